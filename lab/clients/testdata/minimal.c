// The rule of clients/README.md in C, with curl: a driver of one thread and one address, without forks, for one secret.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint16_t key[104];
static uint16_t rol(uint16_t x, int n) { return x << n | x >> (16 - n); }
static void arx(uint16_t *p) { p[0] = rol(p[0], 9) + p[1], p[1] = rol(p[1], 2) ^ p[0]; }

static void expand(const char *hex) {
	uint16_t k[8], t[8];
	for (int i = 0; i < 8; i++) sscanf(hex + 4 * i, "%4hx", &k[i]);
	for (int i = 0; i < 17; i++) {
		if (i == 16) memcpy(key + 96, k, 4), memcpy(key + 102, k + 2, 4);
		else memcpy(key + 6 * i, k, 12);
		arx(k), k[2] += k[0], k[3] += k[1], k[7] += i + 1;
		memcpy(t, k, 16), memcpy(k + 2, t, 12), memcpy(k, t + 6, 4);
	}
}

static int64_t encrypt(uint64_t raw) {
	uint64_t v = __builtin_bswap64(raw);
	uint16_t w[4] = {v >> 48, v >> 32, v >> 16, v}, *k = key;
	for (int step = 0; step < 8; step++) {
		for (int i = 0; i < 6; i++, k += 2) w[i / 3 * 2] ^= k[0], w[i / 3 * 2 + 1] ^= k[1], arx(w + i / 3 * 2);
		uint16_t t = rol(w[0] ^ w[1], 8), c = w[2] ^ w[0] ^ t, d = w[3] ^ w[1] ^ t;
		w[2] = w[0], w[3] = w[1], w[0] = c, w[1] = d;
	}
	w[0] ^= k[0], w[1] ^= k[1], w[2] ^= k[6], w[3] ^= k[7];
	return __builtin_bswap64((uint64_t)w[0] << 48 | (uint64_t)w[1] << 32 | (uint64_t)w[2] << 16 | w[3]);
}

static struct lease { int64_t window, first, cursor; double until; } held[64], *last; // by window
static char code[64], json[4096];
static int64_t nodes, wall, age, width, ahead, real; // real is the width that the service has
static double turn, later;
static int failed;
static double mono(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9 + age; }
static struct lease *find(int64_t window) { struct lease *l = held + window % 64; return l->window == window && l->until > mono() ? l : 0; }

static int64_t field(const char *name) { // a number, or 0
	char quoted[32];
	sprintf(quoted, "\"%s\":", name);
	const char *at = strstr(json, quoted);
	return at ? at += strlen(quoted), atoll(at + strspn(at, " \n\"")) : 0;
}

static int call(const char *procedure, int64_t window, int seconds) {
	char run[1024];
	sprintf(run, "curl -s -m %d --max-filesize 4194304 -H 'Content-Type: application/json' -H 'Connect-Protocol-Version: 1' ${TOKEN:+-H \"Authorization: Bearer $TOKEN\"} "
		"\"$ADDRESSES/randflake.v1.LeaseService/%s\" -d '{\"space\":\"'$SPACE'\",\"window\":%lld,\"nodeCount\":%lld,\"label\":\"minimal\"}'", seconds, procedure, (long long)window, (long long)nodes);
	FILE *f = popen(run, "r");
	json[fread(json, 1, sizeof json - 1, f)] = 0;
	const char *said = strstr(json, "\"code\":");
	if (!pclose(f) && !said) return 1;
	return (said && sscanf(said, "\"code\": \"%63[a-z_]", code)) || strcpy(code, "unavailable"), 0;
}

static int take(int64_t window, int seconds) {
	double until = mono() + (window + 1) * width - (time(0) + wall);
	int64_t asked = width == real ? window : (time(0) + wall) / real;
	if (call("Take", asked, seconds) && field("lastNode") - field("firstNode") + 1 == nodes && field("start") == asked * real && field("end") == (asked + 1) * real)
		return held[window % 64] = (struct lease){window, field("firstNode"), 0, until}, failed = 0, 1;
	return later = mono() + (1 << (failed < 4 ? failed : 4)), failed++, 0;
}

static int next(int64_t n, int64_t *ids) {
	int64_t places = nodes << 17, second, present, start, cursor;
	if (n < 1 || n > places) return strcpy(code, "invalid_argument"), 0;
	if (!width && !call("GetLimits", 0, atoi(getenv("LIMIT")))) return 0;
	if (!width) real = width = field("windowSeconds"), ahead = field("ahead");
	if (!strcmp(getenv("FAULT"), "end")) width = 4000000000;
	for (struct lease *l;; ) {
		second = time(0) + wall, present = second / width;
		if (!(l = find(present)) && last && last->until > mono()) l = last;
		if (l) {
			start = l->window * width, second = second < start ? start : second >= start + width ? start + width - 1 : second;
			cursor = (second - start) * places > l->cursor ? (second - start) * places : l->cursor;
			if (l != last) turn = l->until - width * (0.1 + 0.4 * rand() / RAND_MAX), last = l;
			if (cursor + n <= width * places) break;
		}
		if (!take(present, atoi(getenv("LIMIT")))) return 0;
	}
	for (last->cursor = cursor + n; cursor < last->cursor; cursor++)
		*ids++ = encrypt((((uint64_t)start + cursor / places - 1730000000) << 34) + (last->first << 17) + cursor % places);
	static double began;
	if (!began) began = mono();
	int64_t most = mono() < turn ? 0 : mono() - began < width ? 1 : (180 + width - 1) / width + 1, w = present = last->window > present ? last->window : present;
	while (find(w)) w++;
	if (w <= present + (most < ahead ? most : ahead) && mono() >= later) take(w, 1);
	return 1;
}

int main(void) {
	char line[256], word[16], text[14];
	long long n;
	expand(getenv("SECRET")), nodes = atoll(getenv("NODES")), srand(time(0));
	for (; fgets(line, sizeof line, stdin); puts(""), fflush(stdout)) {
		int words = sscanf(line, "%15s %lld", word, &n), each = !strcmp(word, "generate"), ok = 1;
		if (words == 2 && (each || !strcmp(word, "fill"))) {
			int64_t *ids = calloc(n > 0 && n <= nodes << 17 ? n : 1, 8);
			for (int i = 0; ok && i < (each ? n : 1); i++) ok = next(each ? 1 : n, ids + i);
			printf(ok ? "ids" : "error %s - - - no lease, or a wrong count", code);
			for (int i = 0; ok && i < n; i++) printf(" %lld", (long long)ids[i]);
			free(ids);
		} else if (words == 2 && !strcmp(word, "format")) {
			uint64_t v = n;
			const char *digits = "0123456789abcdefghijklmnopqrstuv";
			for (int i = 12; i > 0; v >>= 5) text[i--] = digits[v & 31];
			text[0] = digits[16 + v], text[13] = 0;
			printf("text %s%s", text, strcmp(getenv("FAULT"), "text") ? "" : "0");
		} else if (words == 2 && !strcmp(word, "clock")) wall = n, printf("ok");
		else if (words == 2 && !strcmp(word, "age")) age = n, printf("ok");
		else printf("unsupported");
	}
}
