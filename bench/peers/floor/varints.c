// The least that a decoder of teehistorian does: it reads each integer of a recording, and knows nothing of records.
//
//     varints RUNS FILE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static double processor(void) {
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static long integers(const unsigned char *at, const unsigned char *end, long *sum) {
	long count = 0;
	for (; at < end; count++) {
		unsigned byte = *at++, value = byte & 63, shift = 6;
		int sign = -(int)(byte >> 6 & 1);
		while (byte & 128 && at < end && shift <= 27) {
			byte = *at++;
			value |= (byte & 127) << shift;
			shift += 7;
		}
		*sum += (int)(value ^ (unsigned)sign);
	}
	return count;
}

int main(int argc, char **argv) {
	FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
	if (!file) return 2;
	fseek(file, 0, SEEK_END);
	long size = ftell(file), count = 0, sum = 0;
	rewind(file);
	unsigned char *data = malloc(size + 1);
	if (!data || fread(data, 1, size, file) != (size_t)size) return 1;
	data[size] = 0;
	const unsigned char *body = data + 16 + strlen((char *)data + 16) + 1; // after the UUID and the header
	double used = processor();
	for (int runs = atoi(argv[1]); runs > 0; runs--) count += integers(body, data + size, &sum);
	printf("{\"cpu\":%f,\"n\":%ld,\"sum\":%ld}\n", processor() - used, count, sum);
}
