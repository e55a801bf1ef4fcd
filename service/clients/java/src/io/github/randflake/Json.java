package io.github.randflake;

import java.util.*;
import java.util.regex.*;
import java.util.stream.Collectors;

/** As much JSON as calls need. It reads what is valid, and some of what is not. */
final class Json {
    /** A text (1) or a bare word (2), with the colon that makes it a name (3); or what stands between them. */
    private static final Pattern TOKEN =
            Pattern.compile("(?:\"((?:[^\"\\\\]++|\\\\.)*+)\"|([-+.\\w]++))\\s*+(:?)|[{}\\[\\],\\s]");
    private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u(\\p{XDigit}{4})|(.))");

    private final Map<String, List<String>> values = new HashMap<>();

    /** Reads an object. Each value stands under its path, such as "/leases/start", and all of a list under one. */
    Json(String text) {
        int at = 0;
        String name = "";
        Deque<String> path = new ArrayDeque<>();
        for (Matcher token = TOKEN.matcher(text); token.find() && token.start() == at; at = token.end()) {
            String found = token.group();
            String word = token.group(1) != null ? unescape(token.group(1)) : token.group(2);
            boolean isName = word != null && !token.group(3).isEmpty();
            if (found.equals("{")) path.addLast(path.isEmpty() ? "" : path.getLast() + "/" + name);
            else if (path.isEmpty() && !found.isBlank()) break; // outside of the object
            else if (found.equals("}")) path.removeLast();
            else if (isName) name = word;
            else if (word != null)
                values.computeIfAbsent(path.getLast() + "/" + name, n -> new ArrayList<>()).add(word);
        }
        if (at != text.length() || !path.isEmpty() || !text.stripLeading().startsWith("{"))
            throw new IllegalArgumentException("not a JSON object");
    }

    private static String unescape(String text) {
        return ESCAPE.matcher(text).replaceAll(e -> Matcher.quoteReplacement(e.group(1) == null
                ? e.group(2).replaceAll("[bfnrt]", " ")
                : String.valueOf((char) Integer.parseInt(e.group(1), 16))));
    }

    List<String> list(String name) { return values.getOrDefault(name, List.of()); }

    String text(String name, String otherwise) { return values.getOrDefault(name, List.of(otherwise)).get(0); }

    /** Returns a text of a form, or something else if there is none. */
    String word(String name, String form, String otherwise) {
        String found = text(name, "");
        return found.matches(form) ? found : otherwise;
    }

    /** Returns a number, or null if there is none. */
    Long integer(String name) { return values.containsKey(name) ? number(name) : null; }

    long number(String name) { return Long.parseLong(text(name, "0")); }

    /** Writes an object of texts, numbers and booleans. */
    static String write(Map<String, Object> fields) {
        return fields.entrySet().stream().map(field -> quote(field.getKey()) + ":"
                + (field.getValue() instanceof String text ? quote(text) : field.getValue()))
                .collect(Collectors.joining(",", "{", "}"));
    }

    private static String quote(String text) { return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"'; }
}
