<?php // Answers with the process ID, 0, and new IDs.
require getenv('CLIENTS') . '/php/tests/autoload.php';
$service = new Randflake\Service(explode(',', getenv('ADDRESSES')), getenv('SPACE'), getenv('TOKEN'));
$generator = new Randflake\Generator($service, Randflake\Secret::parse(getenv('SECRET')));
for ($ids = [getmypid(), 0]; count($ids) < 52;) {
    $ids[] = $generator->generate();
}
echo implode(' ', [...$ids, ...$generator->fill(50)]), "\n";
