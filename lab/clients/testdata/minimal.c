// The rule of clients/README.md in C, with curl and openssl: a driver of one thread and one address, without forks.
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

static char owner[33], code[64];
static int64_t nodes, ttl, wall, age, first, start, high, cursor;
static int held, failed;
static double sent, asked, later;
static double mono(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9 + age; }
static int fault(const char *name) { return !strcmp(getenv("FAULT"), name); }

static const char *field(const char *json, const char *name) { // the text of a value, without its quotation mark
	char quoted[32];
	sprintf(quoted, "\"%s\":", name);
	const char *at = strstr(json, quoted);
	return at ? at += strlen(quoted), at + strspn(at, " \n\"") : "";
}

static int acquire(void) {
	char run[1024], json[4096] = "", *tail = json;
	int retry = *owner && mono() - asked <= 60;
	unsigned char random[10] = {0};
	FILE *f = fopen("/dev/urandom", "r");
	if (!retry && fread(random, 10, 1, f)) {
		sprintf(owner, "%012llx", (long long)(time(0) + wall)), asked = mono();
		for (int i = 0; i < 10; i++) sprintf(owner + 12 + 2 * i, "%02x", random[i]);
	}
	fclose(f);
	sprintf(run, "curl -s -m %s --max-filesize 4194304 -H 'Content-Type: application/json' -H 'Connect-Protocol-Version: 1' "
		"${TOKEN:+-H \"Authorization: Bearer $TOKEN\"} \"$ADDRESSES/randflake.v1.LeaseService/Acquire\" -d '{\"space\":\"'$SPACE'\",\"nodes\":%lld,"
		"\"ttlSeconds\":%lld,\"owner\":\"%s\",\"check\":\"'$(printf 'randflake key check value' | openssl dgst -sha256 -mac HMAC -macopt hexkey:$SECRET -r"
		" | cut -c1-16)'\",\"retry\":%s}'", held ? "1" : "${LIMIT:-10}", (long long)nodes, (long long)ttl, owner, retry ? "true" : "false");
	double now = mono();
	f = popen(run, "r");
	tail[fread(json, 1, sizeof json - 1, f)] = 0;
	int64_t a = atoll(field(json, "firstNode")), s = atoll(field(json, "start")), h = atoll(field(json, "highWater"));
	if (pclose(f) || *field(json, "code") || strncmp(field(json, "owner"), owner, 32) || atoll(field(json, "lastNode")) - a + 1 != nodes || s < 1730000000 || h < s || a < 0 || a + nodes > 1 << 17) {
		if (!sscanf(field(json, "code"), "%63[a-z_]", code) || !*field(json, "code")) strcpy(code, "unavailable");
		if (strstr("invalid_argument not_found already_exists permission_denied unauthenticated resource_exhausted failed_precondition out_of_range unimplemented", code)) *owner = 0;
		return later = mono() + (1 << (failed < 4 ? failed : 4)), failed++, 0;
	}
	return first = a, start = s, high = h, cursor = 0, sent = now, *owner = 0, failed = 0, held = 1;
}

static int next(int64_t n, int64_t *ids) {
	int64_t places = nodes << 17;
	if (n < 1 || n > places) return strcpy(code, "invalid_argument"), 0;
	for (;;) {
		if (held && mono() - sent >= ttl && !fault("end")) held = 0;
		if (held && mono() - sent >= ttl * 2 / 3. && mono() >= later) acquire();
		if (!held && !acquire()) return 0;
		int64_t second = time(0) + wall;
		if (!fault("clamp")) second = second < start ? start : second > high ? high : second;
		if (cursor < (second - start) * places) cursor = (second - start) * places;
		if (cursor + n <= (high - start + 1) * places || fault("end") || fault("clamp")) break;
		if (!acquire()) return 0;
	}
	for (int64_t end = cursor + n; cursor < end; cursor++)
		*ids++ = encrypt((((uint64_t)start + cursor / places - 1730000000) << 34) + (first << 17) + cursor % places);
	return 1;
}

int main(void) {
	char line[256], word[16], text[14];
	long long n;
	expand(getenv("SECRET")), nodes = atoll(getenv("NODES")), ttl = atoll(getenv("TTL"));
	for (; fgets(line, sizeof line, stdin); puts(""), fflush(stdout)) {
		int words = sscanf(line, "%15s %lld", word, &n), each = !strcmp(word, "generate"), ok = 1;
		if (words == 2 && (each || !strcmp(word, "fill"))) {
			int64_t *ids = calloc(n > 0 && n <= nodes << 17 ? n : 1, 8);
			for (int i = 0; ok && i < (each ? n : 1); i++) ok = next(each ? 1 : n, ids + i);
			printf(ok ? "ids" : "error %s no lease, or a wrong count", code);
			for (int i = 0; ok && i < n; i++) printf(" %lld", (long long)ids[i]);
			free(ids);
		} else if (words == 2 && !strcmp(word, "format")) {
			uint64_t v = n;
			int i = 13;
			for (text[i] = 0; v || i == 13; v >>= 5) text[--i] = "0123456789abcdefghijklmnopqrstuv"[v & 31];
			printf("text %s%s", text + i, fault("text") ? "0" : "");
		} else if (words == 2 && !strcmp(word, "clock")) wall = n, printf("ok");
		else if (words == 2 && !strcmp(word, "age")) age = n, printf("ok");
		else printf("unsupported");
	}
}
