<?php

// Included by run.php: workers of PHP-FPM, with a service that grants node after node.

declare(strict_types=1);

/** Returns what a script answers through FastCGI. */
function fastcgi(string $socket, string $script, string $query): string
{
    $record = fn (int $type, string $content) => pack('CCnnCC', 1, $type, 1, strlen($content), 0, 0) . $content;
    $parameters = '';
    foreach (['SCRIPT_FILENAME' => $script, 'REQUEST_METHOD' => 'GET', 'QUERY_STRING' => $query] as $name => $value) {
        $parameters .= pack('CC', strlen($name), strlen($value)) . $name . $value;
    }
    if (!$c = @stream_socket_client("unix://$socket")) {
        return '';
    }
    fwrite($c, $record(1, pack('nC6', 1, 0, 0, 0, 0, 0, 0)) . $record(4, $parameters) . $record(4, '') . $record(5, ''));
    for ($out = ''; strlen($header = (string) stream_get_contents($c, 8)) === 8;) {
        ['type' => $type, 'length' => $length, 'padding' => $padding] = unpack('Cversion/Ctype/nid/nlength/Cpadding', $header);
        $content = $length + $padding > 0 ? substr((string) stream_get_contents($c, $length + $padding), 0, $length) : '';
        $out .= $type === 6 ? $content : '';
    }
    return explode("\r\n\r\n", $out, 2)[1] ?? '';
}

$fpm = trim((string) shell_exec('command -v php-fpm || ls /usr/sbin/php-fpm8* 2>/dev/null | tail -1'));
if ($fpm === '') {
    echo "skip PHP-FPM: not installed\n";
    return;
}
mkdir($dir = sys_get_temp_dir() . '/randflake-' . bin2hex(random_bytes(5)));
chmod($dir, 0777);
file_put_contents("$dir/service.php", '<?php
    $request = json_decode(file_get_contents("php://input"), true);
    $log = fopen(__DIR__ . "/grants", "a");
    flock($log, LOCK_EX);
    $node = intdiv(fstat($log)["size"], 33);
    fwrite($log, "$request[owner]\n");
    echo json_encode(["lease" => ["owner" => $request["owner"], "firstNode" => $node, "lastNode" => $node,
        "start" => (string) time(), "highWater" => (string) (time() + 299)]]);');
$free = stream_socket_server('tcp://127.0.0.1:0');
$address = stream_socket_get_name($free, false);
fclose($free);
file_put_contents("$dir/app.php", '<?php
    require "' . __DIR__ . '/autoload.php";
    $generator = new Randflake\Generator(new Randflake\Service("http://' . $address . '", "test"), Randflake\Secret::parse("' . SECRET . '"));
    $ids = $generator->fill(20);
    match ($_GET["drop"] ?? "") {
        "" => 0,
        "all" => apcu_clear_cache(),
        "cursor" => apcu_delete(new APCUIterator("/ cursor /")),
    };
    echo implode("\n", [...$ids, ...$generator->fill(20)]);');
file_put_contents("$dir/fpm.conf", "[global]\nerror_log = $dir/log\ndaemonize = no\n[www]\nlisten = $dir/socket\nlisten.mode = 0666\n"
    . (posix_getuid() === 0 ? "user = nobody\n" : '') . "pm = static\npm.max_children = 4\npm.max_requests = 50\n");
$quiet = [['file', '/dev/null', 'r'], ['file', "$dir/out", 'a'], ['file', "$dir/out", 'a']];
$processes = [proc_open([PHP_BINARY, '-S', $address, "$dir/service.php"], $quiet, $pipes), proc_open([$fpm, '-F', '-n', '-y', "$dir/fpm.conf",
    '-d', 'extension=apcu', '-d', 'extension=curl'], $quiet, $pipes)];
for ($i = 0; $i < 100 && fastcgi("$dir/socket", "$dir/app.php", '') === ''; $i++) {
    usleep(50_000);
}
$requests = fn (string $drop, int $each) => together(4, function (int $i) use ($dir, $drop, $each) {
    for ($ids = []; $each-- > 0;) {
        $answer = fastcgi("$dir/socket", "$dir/app.php", $i === 0 && $each % 5 === 0 ? "drop=$drop" : '');
        array_push($ids, ...array_filter(explode("\n", $answer), 'strlen'));
    }
    return $ids;
});
$e = thrown(function () use ($dir, $processes, $requests) {
    distinct($all = $requests('', 100), 4 * 100 * 40, 'FPM');
    same(count(file("$dir/grants")), 1, 'leases of all workers');
    distinct($all = [...$all, ...$requests('all', 50), ...$requests('cursor', 50)], 4 * 200 * 40, 'FPM and dropped entries');
    check(count(file("$dir/grants")) > 10, 'other leases');
    $before = count(file("$dir/grants"));
    proc_terminate($processes[1], SIGUSR2); // a restart, with new memory
    usleep(500_000);
    $all = [...$all, ...$requests('', 50)];
    distinct($all, count($all), 'FPM and a restart');
    same(count(file("$dir/grants")), $before + 1, 'leases after a restart');
});
echo $e ? "FAIL PHP-FPM: {$e->getMessage()}\n" . file_get_contents("$dir/out") : "ok   PHP-FPM\n";
$failed += $e ? 1 : 0;
array_map(proc_terminate(...), $processes);
array_map(proc_close(...), $processes);
array_map(unlink(...), glob("$dir/*"));
rmdir($dir);
