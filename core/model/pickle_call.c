/* SPDX-License-Identifier: MIT
 *
 * pickle_call.c: the few callables that a state dict needs, each a description of data.
 * None is ever called. */
#include "model/pickle_machine.h"

enum callable {
    CALL_ORDERED_DICT,
    CALL_REBUILD_TENSOR,
    CALL_REBUILD_PARAMETER,
    CALL_SIZE,
    CALL_STORAGE, /* and the element type in high */
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

static bool refuse_callable(struct machine *machine, struct span module,
                            struct span name) {
    if (!machine->reported)
        error_set(
            machine->error, BERT_MODEL,
            "its pickle would call %.*s.%.*s, which is not data; nothing was executed",
            (int)(module.size < 60 ? module.size : 60), module.data,
            (int)(name.size < 60 ? name.size : 60), name.data);
    machine->reported = true;
    return machine_fail(machine, "");
}

static bool push_callable(struct machine *machine, struct span module, struct span name) {
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (span_equal(module, span_of(allowed[i].module)) &&
            span_equal(name, span_of(allowed[i].name)))
            return machine_push_node(
                machine,
                (struct pickle_node){.kind = PICKLE_CALLABLE, .first = (uint32_t)i});
    return refuse_callable(machine, module, name);
}

bool machine_global(struct machine *machine) {
    struct span module, name;
    return machine_take_line(machine, &module) && machine_take_line(machine, &name) &&
           push_callable(machine, module, name);
}

bool machine_stack_global(struct machine *machine) {
    struct pickle *pickle = machine->pickle;
    struct span module, name;
    if (!machine_have(machine, 2))
        return false;
    if (!pickle_text(pickle, machine_top(pickle, 1), &module) ||
        !pickle_text(pickle, machine_top(pickle, 0), &name))
        return machine_fail(machine, "a callable without a name");
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
bool machine_storage(struct machine *machine) {
    struct pickle *pickle = machine->pickle;
    struct pickle_storage storage;
    struct span tag;
    if (!machine_have(machine, 1))
        return false;
    uint32_t id = machine_top(pickle, 0), class = tuple_item(pickle, id, 1);
    if (!pickle_text(pickle, tuple_item(pickle, id, 0), &tag) ||
        !span_equal(tag, span_of("storage")) || class == UINT32_MAX ||
        pickle->nodes[class].kind != PICKLE_CALLABLE ||
        allowed[pickle->nodes[class].first].callable != CALL_STORAGE ||
        !pickle_text(pickle, tuple_item(pickle, id, 2), &storage.key) ||
        !tuple_size(pickle, id, 4, &storage.count))
        return machine_fail(machine, "a storage is not described as torch does");
    storage.element = allowed[pickle->nodes[class].first].element;
    storage.view_begin = 0;
    storage.view_count = storage.count;
    uint32_t view = tuple_item(pickle, id, 5);
    if (view != UINT32_MAX && pickle->nodes[view].kind == PICKLE_TUPLE &&
        (!tuple_size(pickle, view, 1, &storage.view_begin) ||
         !tuple_size(pickle, view, 2, &storage.view_count) ||
         storage.view_begin > storage.count ||
         storage.view_count > storage.count - storage.view_begin))
        return machine_fail(machine, "a view lies outside its storage");
    if (!GROW(machine, storage))
        return false;
    pickle->storages[pickle->storage_count] = storage;
    pickle->stack_count--;
    return machine_push_node(
        machine, (struct pickle_node){.kind = PICKLE_STORAGE,
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
        return machine_fail(machine, "a tensor is not described as torch does");
    tensor.storage = pickle->storages[pickle->nodes[storage].first];
    uint32_t rank = pickle->nodes[shape].last;
    if (rank > TENSOR_RANK || rank != pickle->nodes[stride].last)
        return machine_fail(machine, "a tensor's shape and strides do not fit");
    tensor.rank = (int)rank;
    for (size_t i = 0; i < rank; i++)
        if (!tuple_size(pickle, shape, i, &tensor.shape[i]) ||
            !tuple_size(pickle, stride, i, &tensor.stride[i]))
            return machine_fail(machine, "a tensor's shape or stride is no size");
    if (!GROW(machine, tensor))
        return false;
    pickle->tensors[pickle->tensor_count] = tensor;
    return machine_push_node(
        machine, (struct pickle_node){.kind = PICKLE_TENSOR,
                                      .first = (uint32_t)pickle->tensor_count++});
}

/* OrderedDict(), or Python 2's OrderedDict([[key, value], ...]). */
static bool make_ordered_dict(struct machine *machine, uint32_t args) {
    struct pickle *pickle = machine->pickle;
    if (!machine_push_kind(machine, PICKLE_DICT))
        return false;
    uint32_t dict = machine_top(pickle, 0), list = tuple_item(pickle, args, 0);
    if (pickle_kind(pickle, list) != PICKLE_LIST)
        return true;
    struct pickle_walk walk = pickle_walk(pickle, list);
    while (pickle_next(pickle, &walk)) {
        struct pickle_walk pair = pickle_walk(pickle, walk.value);
        if (!pickle_next(pickle, &pair))
            return machine_fail(machine,
                                "an OrderedDict is not described as Python does");
        uint32_t key = pair.value;
        if (!pickle_next(pickle, &pair) ||
            !machine_add_link(machine, dict, key, pair.value))
            return machine_fail(machine,
                                "an OrderedDict is not described as Python does");
    }
    return true;
}

bool machine_reduce(struct machine *machine) {
    struct pickle *pickle = machine->pickle;
    if (!machine_have(machine, 2))
        return false;
    uint32_t args = machine_top(pickle, 0), callable = machine_top(pickle, 1);
    if (pickle->nodes[callable].kind != PICKLE_CALLABLE ||
        pickle->nodes[args].kind != PICKLE_TUPLE)
        return machine_fail(machine, "it calls what is no callable");
    pickle->stack_count -= 2;
    uint32_t first = tuple_item(pickle, args, 0);
    switch (allowed[pickle->nodes[callable].first].callable) {
    case CALL_ORDERED_DICT:
        return make_ordered_dict(machine, args);
    case CALL_REBUILD_TENSOR:
        return rebuild_tensor(machine, args);
    case CALL_REBUILD_PARAMETER:
    case CALL_SIZE:
        return first == UINT32_MAX ? machine_fail(machine, "a call without its argument")
                                   : machine_push(machine, first);
    case CALL_STORAGE:
        break;
    }
    return machine_fail(machine, "it calls a storage class");
}
