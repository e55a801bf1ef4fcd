<?php

spl_autoload_register(function (string $class): void {
    if (str_starts_with($class, 'Randflake\\')) {
        require __DIR__ . '/../src/' . substr($class, 10) . '.php';
    }
});
