<?php

declare(strict_types=1);

namespace Randflake;

/**
 * randflaked refused, or did not answer. $reason is a code of https://connectrpc.com/docs/protocol, such as
 * "resource_exhausted", and "unavailable" if there was no answer. It shows no secret and no token.
 */
final class ServiceError extends \RuntimeException
{
    /** After these codes another replica would say the same, and nothing was done. */
    private const FINAL = ['invalid_argument', 'not_found', 'already_exists', 'permission_denied', 'unauthenticated',
        'resource_exhausted', 'failed_precondition', 'out_of_range', 'unimplemented'];

    public function __construct(public readonly string $reason, string $message)
    {
        parent::__construct("randflake: $message ($reason)");
    }

    /** Reports whether what was asked for may have been done. */
    public function unknown(): bool
    {
        return !in_array($this->reason, self::FINAL, true);
    }
}
