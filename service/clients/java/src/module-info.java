/** Unique 64-bit IDs that look random, made under leases of randflaked. */
module io.github.randflake {
    requires transitive java.net.http;
    exports io.github.randflake;
}
