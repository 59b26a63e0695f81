// Reads a file over HTTP/1.1 on one connection, again and again, and prints the bytes of files it got a second.
//
// usage: download PORT PATH SECONDS PIECE LENGTH [FIELD]
//
// PIECE: bytes of each range, which follow each other through the file; 0 asks for the whole. FIELD: another field of
// the header, such as the one with a token. Answers are taken into memory and not looked at.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 20];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

// Reads an answer; returns the length of its body, which must have the status.
static long long take(int connection, const char *status) {
    size_t filled = 0;
    char *end = NULL;
    while (end == NULL) {
        ssize_t count = recv(connection, buffer + filled, sizeof buffer - 1 - filled, 0);
        if (count <= 0) fail("recv");
        filled += count;
        buffer[filled] = 0;
        end = memmem(buffer, filled, "\r\n\r\n", 4);
        if (end == NULL && filled == sizeof buffer - 1) fail("header");
    }
    *end = 0;
    if (strncmp(buffer, "HTTP/1.1 ", 9) != 0 || strncmp(buffer + 9, status, 3) != 0) {
        fprintf(stderr, "download: %s\n", buffer);
        exit(1);
    }
    char *field = strcasestr(buffer, "\r\nContent-Length:");
    if (field == NULL) fail("Content-Length");
    long long length = atoll(field + 17);
    long long missing = length - (long long)(filled - (end + 4 - buffer));
    while (missing > 0) {
        ssize_t count = recv(connection, buffer, missing < (long long)sizeof buffer ? missing : sizeof buffer, 0);
        if (count <= 0) fail("recv");
        missing -= count;
    }
    return length;
}

int main(int count, char **arguments) {
    if (count < 6) {
        fprintf(stderr, "usage: download PORT PATH SECONDS PIECE LENGTH [FIELD]\n");
        return 2;
    }
    double seconds = atof(arguments[3]);
    long long piece = atoll(arguments[4]), length = atoll(arguments[5]), start = 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int connection = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    char request[4096], range[128] = "";
    const char *field = count > 6 ? arguments[6] : "X-None: 0";
    double begin = 0, end = 0;
    long long total = 0;
    // The first pass is for caches, and is not counted.
    for (int is_first = 1; is_first || end < begin + seconds; is_first = 0) {
        long long passed = 0;
        do {
            long long last = start + piece < length ? start + piece - 1 : length - 1;
            if (piece > 0) snprintf(range, sizeof range, "Range: bytes=%lld-%lld\r\n", start, last);
            int size = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n%s\r\n%s\r\n",
                arguments[2], arguments[1], field, range);
            if (send(connection, request, size, 0) != size) fail("send");
            passed += take(connection, piece > 0 ? "206" : "200");
            start = piece > 0 && last + 1 < length ? last + 1 : 0;
        } while (start > 0);
        end = now();
        if (is_first) begin = end;
        else total += passed;
        if (passed != length) fail("length");
    }
    printf("%.0f\n", total / (end - begin));
    return 0;
}
