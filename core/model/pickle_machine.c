/* SPDX-License-Identifier: MIT
 *
 * pickle_machine.c: values, stack, marks and bytes of the machine. Values are nodes in
 * one array, named by index, so that a dict that contains itself is only a number that
 * occurs twice. */
#include "model/pickle_machine.h"

bool machine_fail(struct machine *machine, const char *why) {
    if (!machine->why)
        machine->why = why;
    return false;
}

bool machine_grow(struct machine *machine, void *array, size_t count, size_t *room,
                  size_t size) {
    if (count >= PICKLE_LIMIT)
        return machine_fail(machine, "too many values");
    if (count < *room)
        return true;
    size_t larger = *room * 2 + 64;
    void *memory = realloc(*(void **)array, larger * size);
    if (!memory) {
        machine->out_of_memory = true;
        return machine_fail(machine, "out of memory");
    }
    *(void **)array = memory;
    *room = larger;
    return true;
}

bool machine_push(struct machine *machine, uint32_t node) {
    struct pickle *pickle = machine->pickle;
    if (!machine_grow(machine, &pickle->stack, pickle->stack_count, &pickle->stack_room,
                      sizeof *pickle->stack))
        return false;
    pickle->stack[pickle->stack_count++] = node;
    return true;
}

bool machine_push_node(struct machine *machine, struct pickle_node node) {
    struct pickle *pickle = machine->pickle;
    if (!GROW(machine, node))
        return false;
    pickle->nodes[pickle->node_count] = node;
    return machine_push(machine, (uint32_t)pickle->node_count++);
}

bool machine_push_kind(struct machine *machine, enum pickle_kind kind) {
    return machine_push_node(
        machine, (struct pickle_node){.kind = kind, .first = NO_LINK, .last = NO_LINK});
}

bool machine_push_integer(struct machine *machine, int64_t integer) {
    return machine_push_node(
        machine, (struct pickle_node){.kind = PICKLE_INTEGER, .integer = integer});
}

bool machine_have(struct machine *machine, size_t count) {
    const struct pickle *pickle = machine->pickle;
    size_t floor = pickle->mark_count ? pickle->marks[pickle->mark_count - 1] : 0;
    return pickle->stack_count - floor >= count
               ? true
               : machine_fail(machine, "too few values on its stack");
}

bool machine_pop_mark(struct machine *machine, size_t *begin) {
    struct pickle *pickle = machine->pickle;
    if (pickle->mark_count == 0)
        return machine_fail(machine, "a mark is missing");
    *begin = pickle->marks[--pickle->mark_count];
    return true;
}

uint32_t machine_top(const struct pickle *pickle, size_t depth) {
    return pickle->stack[pickle->stack_count - 1 - depth];
}

bool machine_take(struct machine *machine, uint64_t size, const unsigned char **bytes) {
    if (size > machine->size - machine->at)
        return machine_fail(machine, "truncated");
    *bytes = machine->bytes + machine->at;
    machine->at += (size_t)size;
    return true;
}

bool machine_take_number(struct machine *machine, size_t size, uint64_t *number) {
    const unsigned char *bytes;
    if (!machine_take(machine, size, &bytes))
        return false;
    *number = 0;
    for (size_t i = 0; i < size; i++)
        *number |= (uint64_t)bytes[i] << (8 * i);
    return true;
}

bool machine_take_line(struct machine *machine, struct span *line) {
    const unsigned char *begin = machine->bytes + machine->at;
    const unsigned char *end = memchr(begin, '\n', machine->size - machine->at);
    if (!end)
        return machine_fail(machine, "truncated");
    *line = (struct span){(const char *)begin, (size_t)(end - begin)};
    machine->at += line->size + 1;
    return true;
}

bool machine_add_link(struct machine *machine, uint32_t node, uint32_t key,
                      uint32_t value) {
    struct pickle *pickle = machine->pickle;
    if (!GROW(machine, link))
        return false;
    uint32_t link = (uint32_t)pickle->link_count++;
    pickle->links[link] = (struct pickle_link){key, value, NO_LINK};
    struct pickle_node *container = &pickle->nodes[node];
    if (container->first == NO_LINK)
        container->first = link;
    else
        pickle->links[container->last].next = link;
    container->last = link;
    return true;
}
