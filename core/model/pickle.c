/* SPDX-License-Identifier: MIT
 *
 * pickle.c: the stack machine of pickle's protocols 2 to 5, cut down to data. Values are
 * nodes in one array, named by index, so that a dict that contains itself is only a
 * number that occurs twice. */
#include "model/pickle.h"

enum { NO_LINK = UINT32_MAX };

enum callable {
    CALL_ORDERED_DICT,
    CALL_REBUILD_TENSOR,
    CALL_REBUILD_PARAMETER,
    CALL_SIZE,
    CALL_STORAGE, /* and the element type in high */
};

struct pickle_node {
    enum pickle_kind kind;
    uint32_t first, last; /* links; or a tuple's items: first and count; or an index */
    int64_t integer;
    struct span text;
};

struct pickle_link {
    uint32_t key, value, next;
};

static const struct {
    const char *module, *name;
    enum callable callable;
    enum element element;
} allowed[] = {
    {"collections", "OrderedDict", CALL_ORDERED_DICT, ELEMENT_OTHER},
    {"torch._utils", "_rebuild_tensor", CALL_REBUILD_TENSOR, ELEMENT_OTHER},
    {"torch._utils", "_rebuild_tensor_v2", CALL_REBUILD_TENSOR, ELEMENT_OTHER},
    {"torch._utils", "_rebuild_parameter", CALL_REBUILD_PARAMETER, ELEMENT_OTHER},
    {"torch", "Size", CALL_SIZE, ELEMENT_OTHER},
    {"torch", "FloatStorage", CALL_STORAGE, ELEMENT_F32},
    {"torch", "HalfStorage", CALL_STORAGE, ELEMENT_F16},
    {"torch", "BFloat16Storage", CALL_STORAGE, ELEMENT_BF16},
    {"torch", "DoubleStorage", CALL_STORAGE, ELEMENT_F64},
    {"torch", "LongStorage", CALL_STORAGE, ELEMENT_I64},
    {"torch", "IntStorage", CALL_STORAGE, ELEMENT_I32},
    {"torch", "ShortStorage", CALL_STORAGE, ELEMENT_I16},
    {"torch", "CharStorage", CALL_STORAGE, ELEMENT_I8},
    {"torch", "ByteStorage", CALL_STORAGE, ELEMENT_U8},
    {"torch", "BoolStorage", CALL_STORAGE, ELEMENT_BOOL},
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

static bool fail(struct machine *machine, const char *why) {
    if (!machine->why)
        machine->why = why;
    return false;
}

/* Room for one more element; arrays stay under PICKLE_LIMIT. */
static bool grow(struct machine *machine, void *array, size_t count, size_t *room,
                 size_t size) {
    if (count >= PICKLE_LIMIT)
        return fail(machine, "too many values");
    if (count < *room)
        return true;
    size_t larger = *room * 2 + 64;
    void *memory = realloc(*(void **)array, larger * size);
    if (!memory) {
        machine->out_of_memory = true;
        return fail(machine, "out of memory");
    }
    *(void **)array = memory;
    *room = larger;
    return true;
}

#define GROW(machine, name)                                                     \
    grow(machine, &(machine)->pickle->name##s, (machine)->pickle->name##_count, \
         &(machine)->pickle->name##_room, sizeof *(machine)->pickle->name##s)

static bool push(struct machine *machine, uint32_t node) {
    struct pickle *pickle = machine->pickle;
    if (!grow(machine, &pickle->stack, pickle->stack_count, &pickle->stack_room,
              sizeof *pickle->stack))
        return false;
    pickle->stack[pickle->stack_count++] = node;
    return true;
}

static bool push_node(struct machine *machine, struct pickle_node node) {
    struct pickle *pickle = machine->pickle;
    if (!GROW(machine, node))
        return false;
    pickle->nodes[pickle->node_count] = node;
    return push(machine, (uint32_t)pickle->node_count++);
}

static bool push_kind(struct machine *machine, enum pickle_kind kind) {
    return push_node(
        machine, (struct pickle_node){.kind = kind, .first = NO_LINK, .last = NO_LINK});
}

static bool push_integer(struct machine *machine, int64_t integer) {
    return push_node(machine,
                     (struct pickle_node){.kind = PICKLE_INTEGER, .integer = integer});
}

/* The stack above the last mark must hold count values. */
static bool have(struct machine *machine, size_t count) {
    const struct pickle *pickle = machine->pickle;
    size_t floor = pickle->mark_count ? pickle->marks[pickle->mark_count - 1] : 0;
    return pickle->stack_count - floor >= count
               ? true
               : fail(machine, "too few values on its stack");
}

static bool pop_mark(struct machine *machine, size_t *begin) {
    struct pickle *pickle = machine->pickle;
    if (pickle->mark_count == 0)
        return fail(machine, "a mark is missing");
    *begin = pickle->marks[--pickle->mark_count];
    return true;
}

static uint32_t top(const struct pickle *pickle, size_t depth) {
    return pickle->stack[pickle->stack_count - 1 - depth];
}

/* ---- Reading bytes ---- */

static bool take(struct machine *machine, uint64_t size, const unsigned char **bytes) {
    if (size > machine->size - machine->at)
        return fail(machine, "truncated");
    *bytes = machine->bytes + machine->at;
    machine->at += (size_t)size;
    return true;
}

/* A little-endian number of 1, 2, 4 or 8 bytes. */
static bool take_number(struct machine *machine, size_t size, uint64_t *number) {
    const unsigned char *bytes;
    if (!take(machine, size, &bytes))
        return false;
    *number = 0;
    for (size_t i = 0; i < size; i++)
        *number |= (uint64_t)bytes[i] << (8 * i);
    return true;
}

static bool take_line(struct machine *machine, struct span *line) {
    const unsigned char *begin = machine->bytes + machine->at;
    const unsigned char *end = memchr(begin, '\n', machine->size - machine->at);
    if (!end)
        return fail(machine, "truncated");
    *line = (struct span){(const char *)begin, (size_t)(end - begin)};
    machine->at += line->size + 1;
    return true;
}

static bool read_text(struct machine *machine, size_t width) {
    uint64_t size;
    const unsigned char *bytes;
    return take_number(machine, width, &size) && take(machine, size, &bytes) &&
           push_node(machine,
                     (struct pickle_node){.kind = PICKLE_TEXT,
                                          .text = {(const char *)bytes, (size_t)size}});
}

static bool read_integer(struct machine *machine, size_t width, bool is_signed) {
    uint64_t number;
    if (!take_number(machine, width, &number))
        return false;
    return push_integer(machine, is_signed ? (int64_t)(int32_t)number : (int64_t)number);
}

/* LONG1: a byte of length, then two's complement. */
static bool read_long(struct machine *machine) {
    uint64_t length, number;
    const unsigned char *bytes;
    if (!take_number(machine, 1, &length))
        return false;
    if (length > 8)
        return take(machine, length, &bytes) && push_kind(machine, PICKLE_OPAQUE);
    if (!take_number(machine, (size_t)length, &number))
        return false;
    int unused = 64 - 8 * (int)length;
    int64_t value = length ? (int64_t)(number << unused) >> unused : 0;
    return push_integer(machine, value);
}

/* ---- Memo ---- */

static bool remember(struct machine *machine, uint64_t index) {
    struct pickle *pickle = machine->pickle;
    if (!have(machine, 1))
        return false;
    if (index >= PICKLE_LIMIT)
        return fail(machine, "too many values");
    while (pickle->memo_count <= index) {
        if (!grow(machine, &pickle->memo, pickle->memo_count, &pickle->memo_room,
                  sizeof *pickle->memo))
            return false;
        pickle->memo[pickle->memo_count++] = UINT32_MAX;
    }
    pickle->memo[index] = top(pickle, 0);
    return true;
}

static bool recall(struct machine *machine, size_t width) {
    const struct pickle *pickle = machine->pickle;
    uint64_t index;
    if (!take_number(machine, width, &index))
        return false;
    if (index >= pickle->memo_count || pickle->memo[index] == UINT32_MAX)
        return fail(machine, "it recalls what was never stored");
    return push(machine, pickle->memo[index]);
}

static bool read_memo(struct machine *machine, size_t width) {
    uint64_t index;
    return take_number(machine, width, &index) && remember(machine, index);
}

/* ---- Containers ---- */

static bool add_link(struct machine *machine, uint32_t node, uint32_t key,
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

static bool is_kind(struct machine *machine, uint32_t node, enum pickle_kind kind) {
    return machine->pickle->nodes[node].kind == kind
               ? true
               : fail(machine, "it puts a value into what cannot hold it");
}

/* The values from begin on go into the list or dict below them. */
static bool set_items(struct machine *machine, size_t begin, enum pickle_kind kind) {
    struct pickle *pickle = machine->pickle;
    size_t step = kind == PICKLE_DICT ? 2 : 1;
    if (begin == 0 || (pickle->stack_count - begin) % step != 0)
        return fail(machine, "too few values on its stack");
    uint32_t container = pickle->stack[begin - 1];
    if (!is_kind(machine, container, kind))
        return false;
    for (size_t i = begin; i < pickle->stack_count; i += step)
        if (!add_link(machine, container, pickle->stack[i], pickle->stack[i + step - 1]))
            return false;
    pickle->stack_count = begin;
    return true;
}

static bool set_marked(struct machine *machine, enum pickle_kind kind) {
    size_t begin;
    return pop_mark(machine, &begin) && set_items(machine, begin, kind);
}

static bool set_top(struct machine *machine, enum pickle_kind kind, size_t count) {
    return have(machine, count + 1) &&
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
    return push_node(machine, tuple);
}

static bool make_marked_tuple(struct machine *machine) {
    size_t begin;
    return pop_mark(machine, &begin) && make_tuple(machine, begin);
}

static bool make_top_tuple(struct machine *machine, size_t count) {
    return have(machine, count) &&
           make_tuple(machine, machine->pickle->stack_count - count);
}

/* ---- Callables ---- */

static bool refuse_callable(struct machine *machine, struct span module,
                            struct span name) {
    if (!machine->reported)
        error_set(
            machine->error, BERT_MODEL,
            "its pickle would call %.*s.%.*s, which is not data; nothing was executed",
            (int)(module.size < 60 ? module.size : 60), module.data,
            (int)(name.size < 60 ? name.size : 60), name.data);
    machine->reported = true;
    return fail(machine, "");
}

static bool push_callable(struct machine *machine, struct span module, struct span name) {
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (span_equal(module, span_of(allowed[i].module)) &&
            span_equal(name, span_of(allowed[i].name)))
            return push_node(machine, (struct pickle_node){.kind = PICKLE_CALLABLE,
                                                           .first = (uint32_t)i});
    return refuse_callable(machine, module, name);
}

static bool read_global(struct machine *machine) {
    struct span module, name;
    return take_line(machine, &module) && take_line(machine, &name) &&
           push_callable(machine, module, name);
}

static bool stack_global(struct machine *machine) {
    struct pickle *pickle = machine->pickle;
    struct span module, name;
    if (!have(machine, 2))
        return false;
    if (!pickle_text(pickle, top(pickle, 1), &module) ||
        !pickle_text(pickle, top(pickle, 0), &name))
        return fail(machine, "a callable without a name");
    pickle->stack_count -= 2;
    return push_callable(machine, module, name);
}

/* Item i of a tuple, or UINT32_MAX. */
static uint32_t tuple_item(const struct pickle *pickle, uint32_t tuple, size_t i) {
    const struct pickle_node *node = &pickle->nodes[tuple];
    return node->kind == PICKLE_TUPLE && i < node->last ? pickle->items[node->first + i]
                                                        : UINT32_MAX;
}

static bool tuple_size(const struct pickle *pickle, uint32_t tuple, size_t i,
                       uint64_t *size) {
    uint32_t item = tuple_item(pickle, tuple, i);
    if (item == UINT32_MAX || pickle->nodes[item].kind != PICKLE_INTEGER ||
        pickle->nodes[item].integer < 0)
        return false;
    *size = (uint64_t)pickle->nodes[item].integer;
    return true;
}

/* ('storage', class, key, location, count[, None or (view key, begin, count)]) */
static bool load_storage(struct machine *machine) {
    struct pickle *pickle = machine->pickle;
    struct pickle_storage storage;
    struct span tag;
    if (!have(machine, 1))
        return false;
    uint32_t id = top(pickle, 0), class = tuple_item(pickle, id, 1);
    if (!pickle_text(pickle, tuple_item(pickle, id, 0), &tag) ||
        !span_equal(tag, span_of("storage")) || class == UINT32_MAX ||
        pickle->nodes[class].kind != PICKLE_CALLABLE ||
        allowed[pickle->nodes[class].first].callable != CALL_STORAGE ||
        !pickle_text(pickle, tuple_item(pickle, id, 2), &storage.key) ||
        !tuple_size(pickle, id, 4, &storage.count))
        return fail(machine, "a storage is not described as torch does");
    storage.element = allowed[pickle->nodes[class].first].element;
    storage.view_begin = 0;
    storage.view_count = storage.count;
    uint32_t view = tuple_item(pickle, id, 5);
    if (view != UINT32_MAX && pickle->nodes[view].kind == PICKLE_TUPLE &&
        (!tuple_size(pickle, view, 1, &storage.view_begin) ||
         !tuple_size(pickle, view, 2, &storage.view_count) ||
         storage.view_begin > storage.count ||
         storage.view_count > storage.count - storage.view_begin))
        return fail(machine, "a view lies outside its storage");
    if (!GROW(machine, storage))
        return false;
    pickle->storages[pickle->storage_count] = storage;
    pickle->stack_count--;
    return push_node(machine,
                     (struct pickle_node){.kind = PICKLE_STORAGE,
                                          .first = (uint32_t)pickle->storage_count++});
}

/* (storage, offset, shape, stride, ...) */
static bool rebuild_tensor(struct machine *machine, uint32_t args) {
    struct pickle *pickle = machine->pickle;
    struct pickle_tensor tensor = {0};
    uint32_t storage = tuple_item(pickle, args, 0);
    uint32_t shape = tuple_item(pickle, args, 2), stride = tuple_item(pickle, args, 3);
    if (storage == UINT32_MAX || pickle->nodes[storage].kind != PICKLE_STORAGE ||
        !tuple_size(pickle, args, 1, &tensor.offset) ||
        pickle_kind(pickle, shape) != PICKLE_TUPLE ||
        pickle_kind(pickle, stride) != PICKLE_TUPLE)
        return fail(machine, "a tensor is not described as torch does");
    tensor.storage = pickle->storages[pickle->nodes[storage].first];
    uint32_t rank = pickle->nodes[shape].last;
    if (rank > TENSOR_RANK || rank != pickle->nodes[stride].last)
        return fail(machine, "a tensor's shape and strides do not fit");
    tensor.rank = (int)rank;
    for (size_t i = 0; i < rank; i++)
        if (!tuple_size(pickle, shape, i, &tensor.shape[i]) ||
            !tuple_size(pickle, stride, i, &tensor.stride[i]))
            return fail(machine, "a tensor's shape or stride is no size");
    if (!GROW(machine, tensor))
        return false;
    pickle->tensors[pickle->tensor_count] = tensor;
    return push_node(machine,
                     (struct pickle_node){.kind = PICKLE_TENSOR,
                                          .first = (uint32_t)pickle->tensor_count++});
}

/* OrderedDict(), or Python 2's OrderedDict([[key, value], ...]). */
static bool make_ordered_dict(struct machine *machine, uint32_t args) {
    struct pickle *pickle = machine->pickle;
    if (!push_kind(machine, PICKLE_DICT))
        return false;
    uint32_t dict = top(pickle, 0), list = tuple_item(pickle, args, 0);
    if (pickle_kind(pickle, list) != PICKLE_LIST)
        return true;
    struct pickle_walk walk = pickle_walk(pickle, list);
    while (pickle_next(pickle, &walk)) {
        struct pickle_walk pair = pickle_walk(pickle, walk.value);
        if (!pickle_next(pickle, &pair))
            return fail(machine, "an OrderedDict is not described as Python does");
        uint32_t key = pair.value;
        if (!pickle_next(pickle, &pair) || !add_link(machine, dict, key, pair.value))
            return fail(machine, "an OrderedDict is not described as Python does");
    }
    return true;
}

static bool reduce(struct machine *machine) {
    struct pickle *pickle = machine->pickle;
    if (!have(machine, 2))
        return false;
    uint32_t args = top(pickle, 0), callable = top(pickle, 1);
    if (pickle->nodes[callable].kind != PICKLE_CALLABLE ||
        pickle->nodes[args].kind != PICKLE_TUPLE)
        return fail(machine, "it calls what is no callable");
    pickle->stack_count -= 2;
    uint32_t first = tuple_item(pickle, args, 0);
    switch (allowed[pickle->nodes[callable].first].callable) {
    case CALL_ORDERED_DICT:
        return make_ordered_dict(machine, args);
    case CALL_REBUILD_TENSOR:
        return rebuild_tensor(machine, args);
    case CALL_REBUILD_PARAMETER:
    case CALL_SIZE:
        return first == UINT32_MAX ? fail(machine, "a call without its argument")
                                   : push(machine, first);
    case CALL_STORAGE:
        break;
    }
    return fail(machine, "it calls a storage class");
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
    if (!have(machine, 1))
        return false;
    machine->pickle->stack_count--;
    return true;
}

static bool skip(struct machine *machine, uint64_t size) {
    const unsigned char *ignored;
    return take(machine, size, &ignored);
}

static bool unknown(struct machine *machine, unsigned char opcode) {
    if (!machine->reported)
        error_set(machine->error, BERT_MODEL,
                  "its pickle has opcode 0x%02x, which no state dict needs; nothing was "
                  "executed",
                  opcode);
    machine->reported = true;
    return fail(machine, "");
}

static bool run_containers(struct machine *machine, unsigned char opcode) {
    switch (opcode) {
    case '}':
        return push_kind(machine, PICKLE_DICT);
    case ']':
        return push_kind(machine, PICKLE_LIST);
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
        return read_global(machine);
    case 0x93:
        return stack_global(machine);
    case 'R':
        return reduce(machine);
    case 'Q':
        return load_storage(machine);
    case 'b': /* attributes of an OrderedDict (_metadata): not needed */
        return have(machine, 2) && pop(machine);
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
        return push_kind(machine, PICKLE_NONE);
    case 0x88:
    case 0x89:
        return push_node(machine, (struct pickle_node){.kind = PICKLE_BOOL,
                                                       .integer = opcode == 0x88});
    case 'K':
        return read_integer(machine, 1, false);
    case 'M':
        return read_integer(machine, 2, false);
    case 'J':
        return read_integer(machine, 4, true);
    case 0x8a:
        return read_long(machine);
    case 'G':
        return skip(machine, 8) && push_kind(machine, PICKLE_OPAQUE);
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
    while ((going = take(&machine, 1, &opcode)) && *opcode != '.' &&
           (going = run_opcode(&machine, *opcode)))
        ;
    if (going && (pickle->stack_count != 1 || pickle->mark_count != 0))
        going = fail(&machine, "it ends with a full stack, or an empty one");
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
