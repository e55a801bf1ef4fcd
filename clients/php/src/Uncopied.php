<?php

declare(strict_types=1);

namespace Randflake;

/** Refuses copies and serialization, and keeps what an object holds out of dumps. @internal */
trait Uncopied
{
    public function __clone()
    {
        throw new \LogicException('randflake: ' . static::class . ' is neither copied nor serialized: make it where it is used');
    }

    public function __serialize(): array
    {
        $this->__clone();
    }

    public function __unserialize(array $data): void
    {
        $this->__clone();
    }

    public function __debugInfo(): array
    {
        return [];
    }
}
