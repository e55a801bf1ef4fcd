package io.github.randflake;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** As much JSON as calls need. It reads what is valid, and some of what is not. */
final class Json {
    private static final Pattern TOKEN = Pattern.compile("(?:\"((?:[^\"\\\\]++|\\\\.)*+)\"|([-+.\\w]++))\\s*+(:?)|[{}\\[\\],\\s]");
    private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u(....)|(.))");

    /** Writes an object of names and values, which are texts, numbers and booleans. */
    static String write(Object... fields) {
        List<String> members = new ArrayList<>();
        for (int i = 0; i < fields.length; i += 2)
            members.add('"' + (String) fields[i] + "\":" + (fields[i + 1] instanceof String s ? '"' + escape(s) + '"' : fields[i + 1]));
        return '{' + String.join(",", members) + '}';
    }

    private static String escape(String text) {
        return Pattern.compile("[\\x00-\\x1f\"\\\\]").matcher(text)
                .replaceAll(m -> String.format("\\\\u%04x", (int) m.group().charAt(0)));
    }

    /** Reads an object. Each value stands under its level and name, such as "1 code"; a list is all values of its name. */
    static Map<String, List<String>> read(String text) {
        Map<String, List<String>> values = new HashMap<>();
        int level = 0, at = 0;
        String name = "";
        for (Matcher token = TOKEN.matcher(text); token.find() && token.start() == at; at = token.end()) {
            String word = token.group(1) != null ? unescape(token.group(1)) : token.group(2);
            level += token.group().equals("{") ? 1 : token.group().equals("}") ? -1 : 0;
            if (word != null && !token.group(3).isEmpty()) name = word;
            else if (word != null) values.computeIfAbsent(level + " " + name, n -> new ArrayList<>()).add(word);
        }
        if (at != text.length() || level != 0 || !text.stripLeading().startsWith("{")) throw new IllegalArgumentException("want a JSON object");
        return values;
    }

    private static String unescape(String text) {
        return ESCAPE.matcher(text).replaceAll(m -> Matcher.quoteReplacement(
                m.group(1) != null ? Character.toString(Integer.parseInt(m.group(1), 16))
                : m.group(2).equals("/") ? "/" : m.group().translateEscapes()));
    }
}
