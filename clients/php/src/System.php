<?php

declare(strict_types=1);

namespace Randflake;

/** What the clients ask of their system. Tests give them another one. @internal */
class System
{
    private static null|false|\FFI\CData $page = null; // false where there is none

    /** Returns the Unix second. */
    public function second(): int
    {
        return time();
    }

    /** Returns seconds of a clock that nobody sets. */
    public function monotonic(): float
    {
        return hrtime(true) / 1e9;
    }

    /**
     * Returns a mark of this process that a fork does not keep: the process ID and, with FFI on Linux, a number in a page
     * with MADV_WIPEONFORK, as a child in another PID namespace may have the process ID of its parent.
     */
    public function process(): string
    {
        self::$page ??= self::page();
        if (self::$page && self::$page[0] === 0) {
            self::$page[0] = random_int(1, PHP_INT_MAX);
        }
        return getmypid() . (self::$page ? ' ' . self::$page[0] : '');
    }

    private static function page(): false|\FFI\CData
    {
        try {
            if (PHP_OS_FAMILY === 'Linux' && extension_loaded('ffi')) {
                $libc = \FFI::cdef('void *mmap(void *, size_t, int, int, int, long); int madvise(void *, size_t, int);');
                $page = $libc->mmap(null, 4096, 3, 0x22, -1, 0); // read and write, private and anonymous
                if ($libc->madvise($page, 4096, 18) === 0) { // MADV_WIPEONFORK; fails after a failed mmap, too
                    return $libc->cast('int64_t *', $page);
                }
            }
        } catch (\FFI\Exception) { // not allowed here
        }
        return false;
    }
}
