/* SPDX-License-Identifier: MIT
 *
 * serve_load: loads bert-serve over loopback and prints requests a second and the times
 * of answers. CLIENTS connections ask one question after the other, no two alike, about
 * 16 tokens each; one thread, so that it takes as little as possible of the machine
 * measured.
 *
 *     serve_load PORT [CLIENTS [SECONDS [PATH]]] */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_CLIENTS = 1000, MOST_TIMES = 1 << 22, ROOM = 8192 };

struct client {
    int link;
    double asked;
    size_t got;
    char answer[ROOM];
};

static struct client clients[MOST_CLIENTS];
static float times[MOST_TIMES];
static size_t answered, failed;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Four characters that every vocabulary has count in base 100. */
static size_t write_text(char *out, size_t room, const char *path, unsigned number) {
    static const char signs[] = "的一是了我不人在他有这个上们来到时大地为子中你说生国年着"
                                "就那和要她出也得里后自以会家"
                                "可下而过天去能对小多然于心学么之都好看起发当没成只如事把"
                                "还用第样道想作种开美总从无情己"
                                "面最女但现前些所同日手又行意";
    char count[16] = "";
    for (int i = 0; i < 4; i++, number /= 100)
        memcpy(count + 3 * i, signs + 3 * (number % 100), 3);
    const char *key = path[0] == '/' && path[1] == '\0' ? "inputs" : "text";
    char body[300];
    int size =
        snprintf(body, sizeof body, "{\"%s\":\"%s今天的天[MASK]真不错\"}", key, count);
    int all = snprintf(out, room,
                       "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                       "Content-Length: %d\r\n\r\n%s",
                       path, size, body);
    return (size_t)all;
}

static void ask(struct client *client, const char *path) {
    static unsigned number;
    char request[700];
    if (number == 0)
        number = (unsigned)getpid() * 7919u; /* another run asks other questions */
    size_t size = write_text(request, sizeof request, path, ++number);
    client->got = 0;
    client->asked = now();
    if (send(client->link, request, size, MSG_NOSIGNAL) != (ssize_t)size)
        failed++;
}

/* Whether the answer is whole; the servers measured send Content-Length. */
static int is_whole(struct client *client) {
    client->answer[client->got] = '\0';
    char *end = strstr(client->answer, "\r\n\r\n");
    char *length = end ? strcasestr(client->answer, "content-length:") : NULL;
    return length && client->got >= (size_t)(end + 4 - client->answer) +
                                        strtoull(length + 15, NULL, 10);
}

static int connect_to(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int link = socket(AF_INET, SOCK_STREAM, 0);
    if (link < 0 || connect(link, (struct sockaddr *)&address, sizeof address) != 0) {
        fprintf(stderr, "serve_load: port %d: %s\n", port, strerror(errno));
        exit(1);
    }
    return link;
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void take(struct client *client, const char *path) {
    ssize_t count =
        recv(client->link, client->answer + client->got, ROOM - 1 - client->got, 0);
    if (count <= 0) {
        fprintf(stderr, "serve_load: a connection was closed\n");
        exit(1);
    }
    client->got += (size_t)count;
    if (!is_whole(client))
        return;
    failed += strncmp(client->answer, "HTTP/1.1 200", 12) != 0;
    if (answered < MOST_TIMES)
        times[answered++] = (float)(now() - client->asked);
    ask(client, path);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "serve_load PORT [CLIENTS [SECONDS [PATH]]]\n");
        return 2;
    }
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 50;
    double seconds = argc > 3 ? strtod(argv[3], NULL) : 5;
    const char *path = argc > 4 ? argv[4] : "/predict";
    int epoll = epoll_create1(0);
    if (count < 1 || count > MOST_CLIENTS || epoll < 0)
        return 2;
    double started = now();
    for (int i = 0; i < count; i++) {
        clients[i].link = connect_to((int)strtol(argv[1], NULL, 10));
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &clients[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].link, &event);
        ask(&clients[i], path);
    }
    while (now() - started < seconds) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < ready; i++)
            take(events[i].data.ptr, path);
    }
    double took = now() - started;
    if (answered == 0) {
        fprintf(stderr, "serve_load: no answer\n");
        return 1;
    }
    qsort(times, answered, sizeof *times, by_value);
    printf("%d clients, %.1f s: %zu answers, %.1f a second, p50 %.2f ms, p95 %.2f ms, "
           "p99 %.2f ms, failed %zu\n",
           count, took, answered, (double)answered / took,
           1e3 * (double)times[answered / 2], 1e3 * (double)times[answered * 95 / 100],
           1e3 * (double)times[answered * 99 / 100], failed);
    return failed != 0;
}
