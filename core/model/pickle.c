/* SPDX-License-Identifier: MIT
 *
 * pickle.c: the opcodes of pickle's protocols 2 to 5, cut down to data. */
#include "model/pickle_machine.h"

/* ---- Reading bytes ---- */

static bool read_text(struct machine *machine, size_t width) {
    uint64_t size;
    const unsigned char *bytes;
    return machine_take_number(machine, width, &size) &&
           machine_take(machine, size, &bytes) &&
           machine_push_node(machine, (struct pickle_node){
                                          .kind = PICKLE_TEXT,
                                          .text = {(const char *)bytes, (size_t)size}});
}

static bool read_integer(struct machine *machine, size_t width, bool is_signed) {
    uint64_t number;
    if (!machine_take_number(machine, width, &number))
        return false;
    return machine_push_integer(machine,
                                is_signed ? (int64_t)(int32_t)number : (int64_t)number);
}

/* LONG1: a byte of length, then two's complement. */
static bool read_long(struct machine *machine) {
    uint64_t length, number;
    const unsigned char *bytes;
    if (!machine_take_number(machine, 1, &length))
        return false;
    if (length > 8)
        return machine_take(machine, length, &bytes) &&
               machine_push_kind(machine, PICKLE_OPAQUE);
    if (!machine_take_number(machine, (size_t)length, &number))
        return false;
    int unused = 64 - 8 * (int)length;
    int64_t value = length ? (int64_t)(number << unused) >> unused : 0;
    return machine_push_integer(machine, value);
}

/* ---- Memo ---- */

static bool remember(struct machine *machine, uint64_t index) {
    struct pickle *pickle = machine->pickle;
    if (!machine_have(machine, 1))
        return false;
    if (index >= PICKLE_LIMIT)
        return machine_fail(machine, "too many values");
    while (pickle->memo_count <= index) {
        if (!machine_grow(machine, &pickle->memo, pickle->memo_count, &pickle->memo_room,
                          sizeof *pickle->memo))
            return false;
        pickle->memo[pickle->memo_count++] = UINT32_MAX;
    }
    pickle->memo[index] = machine_top(pickle, 0);
    return true;
}

static bool recall(struct machine *machine, size_t width) {
    const struct pickle *pickle = machine->pickle;
    uint64_t index;
    if (!machine_take_number(machine, width, &index))
        return false;
    if (index >= pickle->memo_count || pickle->memo[index] == UINT32_MAX)
        return machine_fail(machine, "it recalls what was never stored");
    return machine_push(machine, pickle->memo[index]);
}

static bool read_memo(struct machine *machine, size_t width) {
    uint64_t index;
    return machine_take_number(machine, width, &index) && remember(machine, index);
}

/* ---- Containers ---- */

static bool is_kind(struct machine *machine, uint32_t node, enum pickle_kind kind) {
    return machine->pickle->nodes[node].kind == kind
               ? true
               : machine_fail(machine, "it puts a value into what cannot hold it");
}

/* The values from begin on go into the list or dict below them. */
static bool set_items(struct machine *machine, size_t begin, enum pickle_kind kind) {
    struct pickle *pickle = machine->pickle;
    size_t step = kind == PICKLE_DICT ? 2 : 1;
    if (begin == 0 || (pickle->stack_count - begin) % step != 0)
        return machine_fail(machine, "too few values on its stack");
    uint32_t container = pickle->stack[begin - 1];
    if (!is_kind(machine, container, kind))
        return false;
    for (size_t i = begin; i < pickle->stack_count; i += step)
        if (!machine_add_link(machine, container, pickle->stack[i],
                              pickle->stack[i + step - 1]))
            return false;
    pickle->stack_count = begin;
    return true;
}

static bool set_marked(struct machine *machine, enum pickle_kind kind) {
    size_t begin;
    return machine_pop_mark(machine, &begin) && set_items(machine, begin, kind);
}

static bool set_top(struct machine *machine, enum pickle_kind kind, size_t count) {
    return machine_have(machine, count + 1) &&
           set_items(machine, machine->pickle->stack_count - count, kind);
}

static bool make_tuple(struct machine *machine, size_t begin) {
    struct pickle *pickle = machine->pickle;
    struct pickle_node tuple = {.kind = PICKLE_TUPLE,
                                .first = (uint32_t)pickle->item_count};
    for (size_t i = begin; i < pickle->stack_count; i++) {
        if (!GROW(machine, item))
            return false;
        pickle->items[pickle->item_count++] = pickle->stack[i];
    }
    tuple.last = (uint32_t)(pickle->stack_count - begin);
    pickle->stack_count = begin;
    return machine_push_node(machine, tuple);
}

static bool make_marked_tuple(struct machine *machine) {
    size_t begin;
    return machine_pop_mark(machine, &begin) && make_tuple(machine, begin);
}

static bool make_top_tuple(struct machine *machine, size_t count) {
    return machine_have(machine, count) &&
           make_tuple(machine, machine->pickle->stack_count - count);
}

/* ---- The machine ---- */

static bool add_mark(struct machine *machine) {
    struct pickle *pickle = machine->pickle;
    if (!GROW(machine, mark))
        return false;
    pickle->marks[pickle->mark_count++] = (uint32_t)pickle->stack_count;
    return true;
}

static bool pop(struct machine *machine) {
    if (!machine_have(machine, 1))
        return false;
    machine->pickle->stack_count--;
    return true;
}

static bool skip(struct machine *machine, uint64_t size) {
    const unsigned char *ignored;
    return machine_take(machine, size, &ignored);
}

static bool unknown(struct machine *machine, unsigned char opcode) {
    if (!machine->reported)
        error_set(machine->error, BERT_MODEL,
                  "its pickle has opcode 0x%02x, which no state dict needs; nothing was "
                  "executed",
                  opcode);
    machine->reported = true;
    return machine_fail(machine, "");
}

static bool run_containers(struct machine *machine, unsigned char opcode) {
    switch (opcode) {
    case '}':
        return machine_push_kind(machine, PICKLE_DICT);
    case ']':
        return machine_push_kind(machine, PICKLE_LIST);
    case ')':
        return make_top_tuple(machine, 0);
    case '(':
        return add_mark(machine);
    case 't':
        return make_marked_tuple(machine);
    case 0x85:
    case 0x86:
    case 0x87:
        return make_top_tuple(machine, (size_t)(opcode - 0x84));
    case 's':
        return set_top(machine, PICKLE_DICT, 2);
    case 'u':
        return set_marked(machine, PICKLE_DICT);
    case 'a':
        return set_top(machine, PICKLE_LIST, 1);
    case 'e':
        return set_marked(machine, PICKLE_LIST);
    case 'c':
        return machine_global(machine);
    case 0x93:
        return machine_stack_global(machine);
    case 'R':
        return machine_reduce(machine);
    case 'Q':
        return machine_storage(machine);
    case 'b': /* attributes of an OrderedDict (_metadata): not needed */
        return machine_have(machine, 2) && pop(machine);
    }
    return unknown(machine, opcode);
}

static bool run_opcode(struct machine *machine, unsigned char opcode) {
    switch (opcode) {
    case 0x80: /* protocol */
        return skip(machine, 1);
    case 0x95: /* frame */
        return skip(machine, 8);
    case 'N':
        return machine_push_kind(machine, PICKLE_NONE);
    case 0x88:
    case 0x89:
        return machine_push_node(
            machine,
            (struct pickle_node){.kind = PICKLE_BOOL, .integer = opcode == 0x88});
    case 'K':
        return read_integer(machine, 1, false);
    case 'M':
        return read_integer(machine, 2, false);
    case 'J':
        return read_integer(machine, 4, true);
    case 0x8a:
        return read_long(machine);
    case 'G':
        return skip(machine, 8) && machine_push_kind(machine, PICKLE_OPAQUE);
    case 'X':
    case 'T':
        return read_text(machine, 4);
    case 0x8c:
    case 'U':
        return read_text(machine, 1);
    case 0x8d:
        return read_text(machine, 8);
    case 'q':
        return read_memo(machine, 1);
    case 'r':
        return read_memo(machine, 4);
    case 0x94:
        return remember(machine, machine->pickle->memo_count);
    case 'h':
        return recall(machine, 1);
    case 'j':
        return recall(machine, 4);
    case '0':
        return pop(machine);
    }
    return run_containers(machine, opcode);
}

enum bert_status pickle_read(struct pickle *pickle, const unsigned char *bytes,
                             size_t size, size_t *used, struct bert_error *error) {
    struct machine machine = {
        .pickle = pickle, .bytes = bytes, .size = size, .error = error};
    const unsigned char *opcode;
    bool going = true;
    while ((going = machine_take(&machine, 1, &opcode)) && *opcode != '.' &&
           (going = run_opcode(&machine, *opcode)))
        ;
    if (going && (pickle->stack_count != 1 || pickle->mark_count != 0))
        going = machine_fail(&machine, "it ends with a full stack, or an empty one");
    if (!going) {
        if (machine.out_of_memory)
            return error_memory(error);
        return machine.reported ? BERT_MODEL
                                : error_set(error, BERT_MODEL,
                                            "its pickle is invalid: %s", machine.why);
    }
    pickle->root = pickle->stack[0];
    *used = machine.at;
    return BERT_OK;
}

void pickle_release(struct pickle *pickle) {
    free(pickle->nodes);
    free(pickle->tensors);
    free(pickle->storages);
    free(pickle->links);
    free(pickle->items);
    free(pickle->memo);
    free(pickle->stack);
    free(pickle->marks);
    *pickle = (struct pickle){0};
}

enum pickle_kind pickle_kind(const struct pickle *pickle, uint32_t node) {
    return node < pickle->node_count ? pickle->nodes[node].kind : PICKLE_NONE;
}

bool pickle_text(const struct pickle *pickle, uint32_t node, struct span *text) {
    if (pickle_kind(pickle, node) != PICKLE_TEXT)
        return false;
    *text = pickle->nodes[node].text;
    return true;
}

bool pickle_truth(const struct pickle *pickle, uint32_t node, bool *truth) {
    if (pickle_kind(pickle, node) != PICKLE_BOOL)
        return false;
    *truth = pickle->nodes[node].integer != 0;
    return true;
}

const struct pickle_tensor *pickle_tensor(const struct pickle *pickle, uint32_t node) {
    return pickle_kind(pickle, node) == PICKLE_TENSOR
               ? &pickle->tensors[pickle->nodes[node].first]
               : NULL;
}

struct pickle_walk pickle_walk(const struct pickle *pickle, uint32_t node) {
    enum pickle_kind kind = pickle_kind(pickle, node);
    bool container = kind == PICKLE_LIST || kind == PICKLE_DICT;
    return (struct pickle_walk){.link = container ? pickle->nodes[node].first : NO_LINK};
}

bool pickle_next(const struct pickle *pickle, struct pickle_walk *walk) {
    if (walk->link == NO_LINK)
        return false;
    const struct pickle_link *link = &pickle->links[walk->link];
    *walk = (struct pickle_walk){link->next, link->key, link->value};
    return true;
}
