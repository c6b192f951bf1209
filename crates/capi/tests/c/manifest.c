/* Prints the manifest of an image, with everything that the library tells of it, as the shared
 * vectors' manifest.py prints that of a directory:
 *   manifest IMAGE [OFFSET [DEVICE...]]
 * Fields are explained there. Hard links are found by inode numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <sinterfs.h>
#include "sha256.h"

#define PAGE 4096
#define STEP (256 * PAGE)

typedef struct {
    char *path;
    sinterfs_attributes attributes;
} item;

static sinterfs_image *image;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s (errno %d)\n", what, sinterfs_last_message(), sinterfs_last_errno());
    exit(1);
}

/* The length of a well-formed UTF-8 sequence, or 0. */
static size_t utf8(const unsigned char *s, size_t left)
{
    size_t length = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
    size_t i;

    if (*s > 0xf4)
        return 0;

    if (length > left)
        return 0;
    for (i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
        (*s == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

static void print_text(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text, *end = s + length;
    size_t count;

    putchar('"');
    for (; s < end; s += count ? count : 1) {
        count = utf8(s, (size_t)(end - s));
        if (count == 0)
            printf("\\\\x%02x", *s);
        else if (*s == '\\')
            printf("\\\\\\\\");
        else if (*s == '"')
            printf("\\\"");
        else if (*s < 0x20)
            printf("\\u%04x", *s);
        else
            fwrite(s, 1, count, stdout);
    }
    putchar('"');
}

static void print_base64(const unsigned char *s, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i;

    putchar('"');
    for (i = 0; i < length; i += 3) {
        unsigned long group = (unsigned long)s[i] << 16;
        group |= i + 1 < length ? (unsigned long)s[i + 1] << 8 : 0;
        group |= i + 2 < length ? s[i + 2] : 0;
        putchar(digits[group >> 18]);
        putchar(digits[group >> 12 & 63]);
        putchar(i + 1 < length ? digits[group >> 6 & 63] : '=');
        putchar(i + 2 < length ? digits[group & 63] : '=');
    }
    putchar('"');
}

static void hash_page(sha256 *hash, uint64_t offset, const unsigned char *page, size_t count)
{
    static const unsigned char zeros[PAGE];
    unsigned char place[8];
    int i;

    if (memcmp(page, zeros, count) == 0)
        return;
    for (i = 0; i < 8; i++)
        place[i] = (unsigned char)(offset >> 8 * i);
    sha256_add(hash, place, 8);
    sha256_add(hash, page, count);
}

static void print_content(const item *of)
{
    unsigned char *buffer = (unsigned char *)malloc(STEP);
    sinterfs_file *file = sinterfs_open_file(image, of->path);
    uint64_t offset = 0;
    int64_t count, i;
    char text[65];
    sha256 hash;

    if (file == NULL || buffer == NULL)
        fail(of->path);
    sha256_start(&hash);
    while ((count = sinterfs_read_at(file, offset, buffer, STEP)) > 0) {
        for (i = 0; i < count; i += PAGE)
            hash_page(&hash, offset + (uint64_t)i, buffer + i,
                      (size_t)(count - i < PAGE ? count - i : PAGE));
        offset += (uint64_t)count;
    }
    if (count < 0)
        fail(of->path);
    if (offset != of->attributes.size) {
        fprintf(stderr, "%s: %llu bytes\n", of->path, (unsigned long long)offset);
        exit(1);
    }
    sha256_end(&hash, text);
    printf(",\"size\":%llu,\"hash\":\"%s\"", (unsigned long long)offset, text);
    sinterfs_close_file(file);
    free(buffer);
}

static void print_xattrs(const char *path)
{
    int64_t length = sinterfs_listxattr(image, path, NULL, 0), size;
    char *names = (char *)malloc((size_t)length + 1), *name;
    unsigned char *value;

    if (length < 0 || sinterfs_listxattr(image, path, names, (size_t)length) != length)
        fail(path);
    printf(",\"xattrs\":{");
    for (name = names; name < names + length; name += strlen(name) + 1) {
        size = sinterfs_getxattr(image, path, name, NULL, 0);
        value = (unsigned char *)malloc((size_t)size + 1);
        if (size < 0 || sinterfs_getxattr(image, path, name, value, (size_t)size) != size)
            fail(path);
        printf(name == names ? "" : ",");
        print_text(name, strlen(name));
        putchar(':');
        print_base64(value, (size_t)size);
        free(value);
    }
    putchar('}');
    free(names);
}

static void print_target(const char *path)
{
    int64_t length = sinterfs_readlink(image, path, NULL, 0);
    char *target = (char *)malloc((size_t)length + 1);

    if (length < 0 || sinterfs_readlink(image, path, target, (size_t)length) != length)
        fail(path);
    printf(",\"target\":");
    print_text(target, (size_t)length);
    free(target);
}

static void print_item(const item *items, size_t count, const item *of)
{
    const sinterfs_attributes *a = &of->attributes;
    static const char letters[] = "?pc?d?b?f?l?s???";
    char type = letters[a->mode >> 12 & 15];
    long long seconds = (long long)a->mtime_sec;
    size_t i, names = 0;
    const item *first = NULL;

    printf("{\"path\":");
    print_text(of->path, strlen(of->path));
    printf(",\"type\":\"%c\",\"mode\":\"%04o\",\"uid\":%u,\"gid\":%u", type,
           (unsigned)a->mode & 07777, (unsigned)a->uid, (unsigned)a->gid);
    /* nanoseconds as one number: before 1970 the sum is negative */
    printf(",\"mtime\":%lld", seconds * 1000000000LL + (long long)a->mtime_nsec);
    if (type != 'd')
        printf(",\"nlink\":%u", (unsigned)a->nlink);
    for (i = 0; i < count && type != 'd' && a->nlink > 1; i++)
        if (items[i].attributes.ino == a->ino) {
            first = names++ && strcmp(first->path, items[i].path) < 0 ? first : &items[i];
        }
    if (names > 1) {
        printf(",\"link\":");
        print_text(first->path, strlen(first->path));
    }
    if (type == 'f')
        print_content(of);
    if (type == 'l')
        print_target(of->path);
    if (type == 'c' || type == 'b')
        printf(",\"rdev\":\"%u:%u\"", (unsigned)a->rdev_major, (unsigned)a->rdev_minor);
    print_xattrs(of->path);
    printf("}\n");
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const item *)a)->path, ((const item *)b)->path);
}

static item *new_item(item **items, size_t *count, const char *path)
{
    item *added;

    *items = (item *)realloc(*items, (*count + 1) * sizeof **items);
    added = &(*items)[(*count)++];
    added->path = (char *)malloc(strlen(path) + 1);
    strcpy(added->path, path);
    return added;
}

static void open_image(int argc, char **argv)
{
    sinterfs_options *options = sinterfs_options_new();
    int i;

    if (options == NULL || (argc > 2 && atol(argv[2]) != 0 &&
                            sinterfs_options_set_offset(options, (uint64_t)atol(argv[2])) != 0))
        fail("options");
    for (i = 3; i < argc; i++)
        if (sinterfs_options_add_device(options, argv[i]) != 0)
            fail(argv[i]);
    image = sinterfs_open(argv[1], options);
    if (image == NULL)
        fail("open");
    sinterfs_options_free(options);
}

int main(int argc, char **argv)
{
    item *items = NULL;
    size_t count = 0, i;
    sinterfs_list *list;
    sinterfs_entry entry;
    int more;

    if (argc < 2)
        return 2;
    open_image(argc, argv);
    if (sinterfs_stat(image, "/", &new_item(&items, &count, ".")->attributes) != 0)
        fail("/");
    list = sinterfs_walk(image, "");
    if (list == NULL)
        fail("walk");
    while ((more = sinterfs_next(list, &entry)) == 1)
        if (sinterfs_entry_stat(list, &new_item(&items, &count, entry.path)->attributes) != 0)
            fail("stat");
    if (more < 0)
        fail("next");
    sinterfs_close_list(list);
    qsort(items, count, sizeof *items, by_path);
    for (i = 0; i < count; i++)
        print_item(items, count, &items[i]);
    for (i = 0; i < count; i++)
        free(items[i].path);
    free(items);
    sinterfs_close(image);
    return 0;
}
