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

void signals_stop(struct job *job) {
    static const int numbers[] = {SIGINT, SIGTERM};
    atomic_store(&stopped, job);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action = {.sa_handler = job ? on_signal : SIG_DFL,
                                   .sa_flags = job ? (int)SA_RESETHAND : 0};
        struct sigaction before;
        sigemptyset(&action.sa_mask);
        /* A signal that the parent ignores (nohup, &) stays ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

int signals_caught(void) {
    return caught;
}
