/* Eight threads read a file of an image at random places, each by handles of its own and by one
 * that all share; every byte is compared with a first reading: threads IMAGE FILE ROUNDS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sinterfs.h>

#define THREADS 8

static sinterfs_image *image;
static sinterfs_file *file;
static unsigned char *content;
static uint64_t size;
static const char *path;
static long rounds;
static pthread_key_t ending;

/* a call that fails while its thread ends, when the library's own values are gone */
static void fail_at_the_end(void *unused)
{
    (void)unused;
    if (sinterfs_open("/nowhere", NULL) != NULL)
        exit(1);
}

static int same(const sinterfs_file *of, uint64_t offset, size_t length)
{
    unsigned char *buffer = (unsigned char *)malloc(length);
    int64_t count = sinterfs_read_at(of, offset, buffer, length);
    int equal = count == (int64_t)(size - offset < length ? size - offset : length) &&
                memcmp(buffer, content + offset, (size_t)count) == 0;

    free(buffer);
    return equal;
}

static void *work(void *seed)
{
    uint64_t state = (uint64_t)(size_t)seed * 2654435769u + 1;
    long i;

    pthread_setspecific(ending, &ending);
    for (i = 0; i < rounds; i++) {
        sinterfs_file *own = sinterfs_open_file(image, path);
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (own == NULL || !same(own, (state >> 20) % size, (size_t)(state >> 48) + 1) ||
            !same(file, (state >> 30) % size, (size_t)(state >> 50) + 1)) {
            fprintf(stderr, "thread %d: %s\n", (int)(size_t)seed, sinterfs_last_message());
            exit(1);
        }
        sinterfs_close_file(own);
        /* the message of one thread is not that of another */
        if (sinterfs_open_file(image, seed == 0 ? "no-0" : "no-other") != NULL ||
            (strstr(sinterfs_last_message(), "no-0") != NULL) != (seed == 0))
            exit(1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    sinterfs_attributes attributes;
    size_t i;

    if (argc != 4)
        return 2;
    path = argv[2];
    rounds = atol(argv[3]);
    image = sinterfs_open(argv[1], NULL);
    file = image == NULL ? NULL : sinterfs_open_file(image, path);
    if (file == NULL || sinterfs_file_stat(file, &attributes) != 0)
        return 2;
    size = attributes.size;
    content = (unsigned char *)malloc((size_t)size);
    if (sinterfs_read_at(file, 0, content, (size_t)size) != (int64_t)size)
        return 2;
    if (pthread_key_create(&ending, fail_at_the_end) != 0)
        return 2;
    for (i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            return 2;
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    free(content);
    sinterfs_close_file(file);
    sinterfs_close(image);
    return 0;
}
