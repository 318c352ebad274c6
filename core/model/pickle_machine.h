/* SPDX-License-Identifier: MIT
 *
 * pickle_machine.h: the stack machine behind pickle.h, shared by its three files. Each
 * function that returns false has set why, which ends the reading. */
#ifndef MODEL_PICKLE_MACHINE_H
#define MODEL_PICKLE_MACHINE_H

#include "model/pickle.h"

enum { NO_LINK = UINT32_MAX };

struct pickle_node {
    enum pickle_kind kind;
    uint32_t first, last; /* links; or a tuple's items: first and count; or an index */
    int64_t integer;
    struct span text;
};

struct pickle_link {
    uint32_t key, value, next;
};

struct machine {
    struct pickle *pickle;
    const unsigned char *bytes;
    size_t size, at;
    const char *why; /* set on failure, unless error is set already */
    bool out_of_memory;
    struct bert_error *error;
    bool reported;
};

bool machine_fail(struct machine *machine, const char *why);
/* Room for one more element; arrays stay under PICKLE_LIMIT. */
bool machine_grow(struct machine *machine, void *array, size_t count, size_t *room,
                  size_t size);
bool machine_push(struct machine *machine, uint32_t node);
bool machine_push_node(struct machine *machine, struct pickle_node node);
bool machine_push_kind(struct machine *machine, enum pickle_kind kind);
bool machine_push_integer(struct machine *machine, int64_t integer);
/* The stack above the last mark must hold count values. */
bool machine_have(struct machine *machine, size_t count);
bool machine_pop_mark(struct machine *machine, size_t *begin);
uint32_t machine_top(const struct pickle *pickle, size_t depth);
bool machine_take(struct machine *machine, uint64_t size, const unsigned char **bytes);
/* A little-endian number of 1, 2, 4 or 8 bytes. */
bool machine_take_number(struct machine *machine, size_t size, uint64_t *number);
bool machine_take_line(struct machine *machine, struct span *line);
bool machine_add_link(struct machine *machine, uint32_t node, uint32_t key,
                      uint32_t value);

#define GROW(machine, name)                                                             \
    machine_grow(machine, &(machine)->pickle->name##s, (machine)->pickle->name##_count, \
                 &(machine)->pickle->name##_room, sizeof *(machine)->pickle->name##s)

/* ---- pickle_call.c ---- */

bool machine_global(struct machine *machine);       /* two lines: module and name */
bool machine_stack_global(struct machine *machine); /* the same from the stack */
bool machine_storage(struct machine *machine);      /* a persistent id */
bool machine_reduce(struct machine *machine);       /* a callable and its arguments */

#endif
