/* SPDX-License-Identifier: MIT
 *
 * bert-serve: fills [MASK] over HTTP. The main thread loads models and waits for signals;
 * everything else is core/service. */
#include "build_info.h"
#include "common_options.h"
#include "service/serve.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { MEGABYTE = 1 << 20, SPARE_FILES = 64, KEY_LEAST = 8, LEAVE_SECONDS = 5 };

struct args {
    const char *listen, *cors, *key_file;
    int cache, queue, max_body, max_upload, max_connections, idle, drain, log;
    bool log_text;
};

#define FIELD(name) offsetof(struct args, name)
static const struct cli_option rows[] = {
    {CLI_GROUP, .help = "Serving"},
    {CLI_TEXT, "listen", 0, "WHERE",
     "HOST:PORT, [V6]:PORT, :PORT for all addresses, or unix:PATH (default: the socket "
     "that "
     "the service manager hands over, else 127.0.0.1:8000)",
     FIELD(listen)},
    {CLI_INT, "cache", 0, "N", "answers kept (default 100)", FIELD(cache), .least = 0,
     .most = 1000000},
    {CLI_INT, "queue", 0, "N", "texts that may wait for the model (default 256)",
     FIELD(queue), .least = 1, .most = 100000},
    {CLI_INT, "max-body", 0, "MB", "largest JSON body (default 2)", FIELD(max_body),
     .least = 1, .most = 1024},
    {CLI_INT, "max-upload", 0, "MB", "largest CSV upload (default 64)", FIELD(max_upload),
     .least = 1, .most = 1024},
    {CLI_INT, "max-connections", 0, "N", "connections at a time (default 512)",
     FIELD(max_connections), .least = 1, .most = 100000},
    {CLI_INT, "idle-timeout", 0, "SECONDS",
     "close a connection that is silent for so long (default 60)", FIELD(idle),
     .least = 1, .most = 86400},
    {CLI_INT, "drain", 0, "SECONDS",
     "at SIGTERM, time for the requests in progress (default 10)", FIELD(drain),
     .least = 0, .most = 3600},
    {CLI_TEXT, "cors", 0, "ORIGIN",
     "let pages of this origin (https://example.org, or *) use the interfaces",
     FIELD(cors)},
    {CLI_FILE, "api-key-file", 0, "FILE",
     "ask for Authorization: Bearer with the key in this file", FIELD(key_file)},
    {CLI_CHOICE, "log", 0, "FORMAT", "text or json, one line a request", FIELD(log),
     .choices = "text json"},
    {CLI_FLAG, "log-text", 0, NULL, "log the texts that are asked, too", FIELD(log_text)},
    {CLI_END}};
#undef FIELD

static const struct cli_program program = {
    .name = "bert-serve",
    .summary = "fills [MASK] in Chinese text over HTTP, with a page at /",
    .operands = "",
    .examples =
        {"bert-serve",
         "curl -d '{\"text\":\"今天天气真[MASK]\"}' http://127.0.0.1:8000/predict"},
    .notes =
        "Signals: SIGTERM and SIGINT end after answering what is in progress, SIGHUP\n"
        "loads the model again. Environment: MODEL_PATH stands in for BERT_MODEL.\n"
        "Exit status: 0 ended by a signal, 2 usage, 3 model, 4 I/O (an address in use),\n"
        "5 memory or device."};

struct opener {
    struct cli *cli;
    const struct common_options *common;
};

static enum bert_status open_model(void *arg, struct bert_model **model,
                                   struct bert_error *error) {
    struct opener *opener = arg;
    return common_options_try(opener->cli, opener->common, OPEN_PREFER_CUDA, model,
                              error);
}

/* The first line of a file, in the arena; NULL after saying what is wrong. */
static const char *read_key(struct cli *cli, const char *path) {
    char line[1024] = "";
    FILE *file = fopen(path, "re");
    if (!file || (!fgets(line, sizeof line, file) && ferror(file))) {
        cli_error(cli, BERT_USAGE, "%s: %s", path, strerror(errno));
        if (file)
            fclose(file);
        return NULL;
    }
    fclose(file);
    size_t size = strcspn(line, "\r\n");
    if (size < KEY_LEAST || size == sizeof line - 1) {
        cli_error(cli, BERT_USAGE, "%s: a key has %d to %zu characters", path, KEY_LEAST,
                  sizeof line - 2);
        return NULL;
    }
    return arena_text(&cli->arena, line, size);
}

static bool is_origin(const char *origin) {
    const char *host = strstr(origin, "://");
    return strcmp(origin, "*") == 0 ||
           (host && host > origin && host[3] && !strpbrk(host + 3, "/?# \t\r\n,"));
}

static void allow_files(int connections) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)connections + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Uploads and reloads come with threads of their own; a heap for each of them would keep
 * what they freed. */
static void share_heaps(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 2);
#endif
}

static sigset_t signals;

static bool again_asked_to_end(void) {
    static const struct timespec now;
    sigset_t ending = signals;
    sigdelset(&ending, SIGHUP);
    return sigtimedwait(&ending, NULL, &now) > 0;
}

static void wait_for_signals(struct serve *serve) {
    struct bert_error error;
    int signal;
    while (sigwait(&signals, &signal) == 0 && signal == SIGHUP)
        serve_load(serve, &error); /* what cannot be loaded leaves the old, and a note */
}

/* A lost device does not come back to this process: it ends, to be started anew. */
static void give_up(void *arg, const struct bert_error *error) {
    *(struct bert_error *)arg = *error;
    kill(getpid(), SIGTERM);
}

static volatile sig_atomic_t leave_status;

static void leave(int signal) {
    _exit(leave_status);
}

/* What is being computed cannot be stopped, and nobody waits for it any more. */
static void leave_soon(const struct cli *cli) {
    leave_status = cli->status;
    signal(SIGALRM, leave);
    alarm(LEAVE_SECONDS);
}

static void run(struct cli *cli, const struct args *args,
                const struct common_options *common) {
    struct opener opener = {cli, common};
    struct bert_error broken = {.status = BERT_OK};
    struct serve_options options = {.listen = args->listen,
                                    .version = BERT_VERSION,
                                    .threads = common->jobs,
                                    .max_connections = (unsigned)args->max_connections,
                                    .idle_seconds = (unsigned)args->idle,
                                    .cache = (size_t)args->cache,
                                    .queue = (size_t)args->queue,
                                    .max_body = (size_t)args->max_body * MEGABYTE,
                                    .max_upload = (size_t)args->max_upload * MEGABYTE,
                                    .cors = args->cors,
                                    .log_file = 2,
                                    .log_json = args->log == 1,
                                    .log_text = args->log_text,
                                    .quiet = common->quiet,
                                    .open = open_model,
                                    .open_arg = &opener,
                                    .broken = give_up,
                                    .broken_arg = &broken};
    struct serve *serve;
    struct bert_error error;
    if (cli->operand_count > 0) {
        cli_usage(cli, "there are no operands: '%s'", cli->operands[0]);
        return;
    }
    if (common->output) {
        cli_usage(cli, "-o: answers go to clients, and the log to standard error");
        return;
    }
    if (args->cors && !is_origin(args->cors)) {
        cli_usage(cli, "--cors: '%s' is no origin like https://example.org", args->cors);
        return;
    }
    if (args->key_file && !(options.api_key = read_key(cli, args->key_file)))
        return;
    if (serve_new(&serve, &options, &error) != BERT_OK) {
        cli_fail(cli, &error);
        return;
    }
    if (serve_load(serve, &error) == BERT_OK) {
        wait_for_signals(serve);
        bool drained = serve_drain(serve, args->drain, again_asked_to_end);
        if (broken.status != BERT_OK)
            cli_fail(cli, &broken);
        if (!drained)
            leave_soon(cli);
    } else {
        cli_fail(cli, &error);
    }
    serve_free(serve);
}

int main(int argc, char **argv) {
    struct cli cli;
    struct args args = {.cache = 100,
                        .queue = 256,
                        .max_body = 2,
                        .max_upload = 64,
                        .max_connections = 512,
                        .idle = 60,
                        .drain = 10};
    struct common_options common;
    const struct cli_table tables[] = {
        {rows, &args}, {common_option_rows, &common}, {NULL, NULL}};
    if (getenv("MODEL_PATH"))
        setenv("BERT_MODEL", getenv("MODEL_PATH"), 0);
    if (common_options_read(&cli, &program, tables, &common, argc, argv)) {
        signal(SIGPIPE, SIG_IGN);
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGHUP);
        sigprocmask(SIG_BLOCK, &signals, NULL); /* all threads inherit it */
        allow_files(args.max_connections);
        share_heaps();
        run(&cli, &args, &common);
    }
    return cli_finish(&cli);
}
