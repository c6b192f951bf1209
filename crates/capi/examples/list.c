/* Lists everything below a directory of an image, with types, modes, sizes and targets:
 *   cc list.c $(pkg-config --cflags --libs sinterfs) -o list && ./list IMAGE [DIRECTORY]
 */
#include <stdio.h>
#include <sinterfs.h>

static int show(const sinterfs_image *image, sinterfs_list *list, const sinterfs_entry *entry)
{
    sinterfs_attributes attributes;
    char target[4096];
    int64_t length;

    if (sinterfs_entry_stat(list, &attributes) != 0)
        return -1;
    printf("%06o %12llu %s", (unsigned)attributes.mode, (unsigned long long)attributes.size,
           entry->path);
    if (entry->file_type == 0120000) {
        length = sinterfs_readlink(image, entry->path, target, sizeof target);
        if (length < 0)
            return -1;
        printf(" -> %.*s", (int)length, target);
    }
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    sinterfs_image *image;
    sinterfs_list *list = NULL;
    sinterfs_entry entry;
    int more = -1;

    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: list IMAGE [DIRECTORY]\n");
        return 2;
    }
    image = sinterfs_open(argv[1], NULL);
    if (image != NULL)
        list = sinterfs_walk(image, argc == 3 ? argv[2] : "/");
    while (list != NULL && (more = sinterfs_next(list, &entry)) == 1) {
        if (show(image, list, &entry) != 0) {
            more = -1;
            break;
        }
    }
    if (more != 0)
        fprintf(stderr, "list: %s (errno %d)\n", sinterfs_last_message(), sinterfs_last_errno());
    sinterfs_close_list(list);
    sinterfs_close(image);
    return more == 0 ? 0 : 1;
}
