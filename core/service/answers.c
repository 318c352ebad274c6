/* SPDX-License-Identifier: MIT
 *
 * answers.c: a hash table whose entries also stand in a list by last use. */
#include "service/answers.h"

enum {
    BUCKETS = 1 << 14,
    MOST = BUCKETS,               /* answers remembered */
    MOST_BYTES = 16 * 1024 * 1024 /* of their texts and of what was given */
};

bool answers_init(struct answers *answers, atomic_size_t *given) {
    *answers = (struct answers){.given = given};
    answers->buckets = calloc(BUCKETS, sizeof *answers->buckets);
    return answers->buckets != NULL;
}

void answer_release(struct answer *answer, atomic_size_t *given) {
    if (!answer || atomic_fetch_sub(&answer->references, 1) > 1)
        return;
    atomic_fetch_sub(given, answer->given.out.size);
    buffer_release(&answer->given.out);
    buffer_release(&answer->given.error);
    buffer_release(&answer->given.note);
    buffer_release(&answer->text);
    buffer_release(&answer->before);
    free(answer);
}

static struct answer **bucket(struct answers *answers, uint64_t hash) {
    return &answers->buckets[hash % BUCKETS];
}

static void unlink_used(struct answers *answers, struct answer *answer) {
    *(answer->newer ? &answer->newer->older : &answers->newest) = answer->older;
    *(answer->older ? &answer->older->newer : &answers->oldest) = answer->newer;
}

static void link_newest(struct answers *answers, struct answer *answer) {
    answer->newer = NULL;
    answer->older = answers->newest;
    *(answers->newest ? &answers->newest->newer : &answers->oldest) = answer;
    answers->newest = answer;
}

static void forget_oldest(struct answers *answers) {
    struct answer *answer = answers->oldest;
    unlink_used(answers, answer);
    struct answer **link = bucket(answers, answer->hash);
    while (*link != answer)
        link = &(*link)->chain;
    *link = answer->chain;
    answers->count--;
    answers->bytes -= answer->text.size + answer->before.size;
    answer_release(answer, answers->given);
}

void answers_release(struct answers *answers) {
    while (answers->oldest)
        forget_oldest(answers);
    free(answers->buckets);
}

static bool same(const struct buffer *a, const struct buffer *b) {
    return span_equal((struct span){a->data, a->size}, (struct span){b->data, b->size});
}

static struct answer *answer_new(const struct buffer *text, const struct buffer *before) {
    struct answer *answer = calloc(1, sizeof *answer);
    if (!answer)
        return NULL;
    atomic_init(&answer->references, 1);
    buffer_add(&answer->text, text->data, text->size);
    buffer_add(&answer->before, before->data, before->size);
    if (!buffer_text(&answer->text) || !buffer_text(&answer->before)) {
        buffer_release(&answer->text);
        buffer_release(&answer->before);
        free(answer);
        return NULL;
    }
    return answer;
}

struct answer *answers_get(struct answers *answers, const struct buffer *text,
                           const struct buffer *before, bool remember, bool *fresh) {
    *fresh = true;
    if (!remember)
        return answer_new(text, before);
    uint64_t hash = hash_bytes(HASH_SEED, before->data, before->size);
    hash = hash_bytes(hash, text->data, text->size);
    struct answer **link = bucket(answers, hash);
    for (struct answer *known = *link; known; known = known->chain) {
        if (known->hash != hash || !same(&known->text, text) ||
            !same(&known->before, before))
            continue;
        unlink_used(answers, known);
        link_newest(answers, known);
        atomic_fetch_add(&known->references, 1);
        *fresh = false;
        return known;
    }
    struct answer *answer = answer_new(text, before);
    if (!answer)
        return NULL;
    while (answers->oldest && (answers->count >= MOST ||
                               answers->bytes + atomic_load(answers->given) > MOST_BYTES))
        forget_oldest(answers);
    answer->hash = hash;
    answer->chain = *link;
    *link = answer;
    link_newest(answers, answer);
    answers->count++;
    answers->bytes += text->size + before->size;
    atomic_fetch_add(&answer->references, 1); /* the map's */
    return answer;
}
