<?php

array_map(fn (string $file) => require_once $file, glob(__DIR__ . '/../src/*.php'));
