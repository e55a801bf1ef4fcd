package io.github.randflake;

import java.util.*;
import java.util.regex.*;
import java.util.stream.Collectors;

/** As much JSON as calls need. It reads what is valid, and some of what is not. */
final class Json {
    private static final Pattern TOKEN =
            Pattern.compile("(?:\"((?:[^\"\\\\]++|\\\\.)*+)\"|([-+.\\w]++))\\s*+(:?)|[{}\\[\\],\\s]");

    private final Map<String, List<String>> values = new HashMap<>();

    /** Reads an object. Each value stands under its level and name, such as "1 code", and all of a list under one. */
    Json(String text) {
        int level = 0, at = 0;
        String name = "";
        for (Matcher token = TOKEN.matcher(text); token.find() && token.start() == at; at = token.end()) {
            String word = token.group(1) != null ? token.group(1).replaceAll("\\\\(.)", "$1") : token.group(2);
            level += token.group().equals("{") ? 1 : token.group().equals("}") ? -1 : 0;
            if (word != null && !token.group(3).isEmpty()) name = word;
            else if (word != null) values.computeIfAbsent(level + " " + name, n -> new ArrayList<>()).add(word);
        }
        if (at != text.length() || level != 0 || !text.stripLeading().startsWith("{"))
            throw new IllegalArgumentException("not a JSON object");
    }

    List<String> list(String name) { return values.getOrDefault(name, List.of()); }

    String text(String name, String otherwise) { return values.getOrDefault(name, List.of(otherwise)).get(0); }

    long number(String name) { return Long.parseLong(text(name, "0")); }

    /** Writes an object of texts, numbers and booleans. */
    static String write(Map<String, Object> fields) {
        return fields.entrySet().stream().map(field -> quote(field.getKey()) + ":"
                + (field.getValue() instanceof String text ? quote(text) : field.getValue()))
                .collect(Collectors.joining(",", "{", "}"));
    }

    private static String quote(String text) { return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"'; }
}
