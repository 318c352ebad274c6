/* SPDX-License-Identifier: MIT
 *
 * signals.c: the one place with a signal handler. */
#include "signals.h"

#include <signal.h>
#include <stdatomic.h>

static struct job *_Atomic stopped;
static volatile sig_atomic_t caught;

static void on_signal(int number) {
    struct job *job = atomic_load(&stopped);
    caught = number;
    if (job)
        job_stop(job);
}

static void set(void (*handler)(int), int flags) {
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
        sigemptyset(&action.sa_mask);
        /* A signal that the parent ignores (nohup, &) stays ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

void signals_catch(struct job *job) {
    atomic_store(&stopped, job);
    set(on_signal, (int)SA_RESETHAND);
}

void signals_release(void) {
    set(SIG_DFL, 0);
    atomic_store(&stopped, NULL);
}

int signals_caught(void) {
    return caught;
}
