/* SPDX-License-Identifier: MIT
 *
 * tensor.c: element types, checked extents and rows of floats. */
#include "model/tensor.h"

static const struct {
    const char *name;
    size_t size;
} elements[] = {
    [ELEMENT_OTHER] = {"?", 0},   [ELEMENT_F32] = {"F32", 4},
    [ELEMENT_F16] = {"F16", 2},   [ELEMENT_BF16] = {"BF16", 2},
    [ELEMENT_F64] = {"F64", 8},   [ELEMENT_I64] = {"I64", 8},
    [ELEMENT_I32] = {"I32", 4},   [ELEMENT_I16] = {"I16", 2},
    [ELEMENT_I8] = {"I8", 1},     [ELEMENT_U8] = {"U8", 1},
    [ELEMENT_BOOL] = {"BOOL", 1},
};

size_t element_size(enum element element) {
    return elements[element].size;
}

const char *element_name(enum element element) {
    return elements[element].name;
}

enum element element_named(struct span name) {
    for (int i = ELEMENT_F32; i <= ELEMENT_BOOL; i++)
        if (span_equal(name, span_of(elements[i].name)))
            return (enum element)i;
    return ELEMENT_OTHER;
}

void tensor_pack_strides(struct tensor *tensor) {
    uint64_t stride = 1;
    for (int i = tensor->rank; i-- > 0;) {
        tensor->stride[i] = stride;
        stride *= tensor->shape[i];
    }
}

bool tensor_elements(const struct tensor *tensor, size_t *count) {
    size_t product = 1;
    for (int i = 0; i < tensor->rank; i++)
        if (!size_mul(product, tensor->shape[i], &product))
            return false;
    *count = product;
    return true;
}

bool tensor_extent(const struct tensor *tensor, size_t *extent) {
    size_t last = 0; /* index of the last element */
    bool empty = false;
    for (int i = 0; i < tensor->rank; i++) {
        size_t step;
        if (tensor->shape[i] == 0) {
            empty = true;
            continue;
        }
        if (!size_mul(tensor->shape[i] - 1, tensor->stride[i], &step) ||
            !size_add(last, step, &last))
            return false;
    }
    if (empty) {
        *extent = 0;
        return true;
    }
    return size_add(last, 1, &last) &&
           size_mul(last, element_size(tensor->element), extent);
}

bool tensor_is_packed(const struct tensor *tensor) {
    struct tensor packed = *tensor;
    tensor_pack_strides(&packed);
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] > 1 && packed.stride[i] != tensor->stride[i])
            return false;
    return true;
}

bool tensor_is_float(const struct tensor *tensor) {
    return tensor->element >= ELEMENT_F32 && tensor->element <= ELEMENT_F64 &&
           (tensor->rank == 1 || tensor->rank == 2);
}

static float double_at(const unsigned char *bytes) {
    uint64_t bits = load_u64(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

static float float_at(const unsigned char *bytes) {
    uint32_t bits = load_u32(bytes);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void tensor_row(const struct tensor *tensor, size_t row, float *out) {
    const unsigned char *data = tensor->data;
    size_t columns = tensor_columns(tensor), size = element_size(tensor->element);
    bool matrix = tensor->rank == 2;
    size_t step = tensor->stride[matrix ? 1 : 0] * size;
    if (matrix)
        data += row * tensor->stride[0] * size;
    switch (tensor->element) {
    case ELEMENT_F32:
        if (step == sizeof *out) { /* as everywhere, floats of memory are little-endian */
            memcpy(out, data, columns * sizeof *out);
            break;
        }
        for (size_t i = 0; i < columns; i++)
            out[i] = float_at(data + i * step);
        break;
    case ELEMENT_F16:
        for (size_t i = 0; i < columns; i++)
            out[i] = half_to_float(load_u16(data + i * step));
        break;
    case ELEMENT_BF16:
        for (size_t i = 0; i < columns; i++)
            out[i] = bfloat_to_float(load_u16(data + i * step));
        break;
    default:
        for (size_t i = 0; i < columns; i++)
            out[i] = double_at(data + i * step);
    }
}

bool tensor_equal(const struct tensor *a, const struct tensor *b) {
    size_t size;
    return a->element == b->element && a->rank == b->rank && tensor_is_packed(a) &&
           tensor_is_packed(b) && memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
           tensor_extent(a, &size) &&
           (a->data == b->data || memcmp(a->data, b->data, size) == 0);
}
