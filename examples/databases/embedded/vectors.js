// Counts the vectors of standard input with which a database does not agree: node vectors.js duckdb|clickhouse SECRET < JSON
const { functions, vectors } = JSON.parse(require('fs').readFileSync(0));
const [name, secret] = process.argv.slice(2);
const bad = ['', secret.slice(1), `${secret}0`, `${secret}\n${secret} from 2026-12-01T00:00:00Z`, `g${secret.slice(1)}`, Buffer.from(secret, 'hex').toString('base64')];
const rows = vectors.map(v => `(${v.join(',')})`);
const wrong = (k, seconds) => `SELECT count(*), sum(CASE WHEN randflake_mask(raw, ${k}) = id AND randflake_unmask(id, ${k}) = raw AND ${seconds} = time
  AND randflake_node(id, ${k}) = node AND randflake_sequence(id, ${k}) = sequence THEN 0 ELSE 1 END) FROM vectors`;

async function duckdb() {
  const connection = await (await require('@duckdb/node-api').DuckDBInstance.create(':memory:')).connect();
  await connection.run(functions);
  await connection.run('CREATE TABLE vectors (raw BIGINT, id BIGINT, time BIGINT, node BIGINT, sequence BIGINT)');
  await connection.run(`INSERT INTO vectors VALUES ${rows}`);
  for (const text of bad) {
    if (await connection.runAndReadAll('SELECT randflake_keys($1)', [text]).catch(() => null)) throw new Error(`a secret ${text}`);
  }
  await connection.run('SET VARIABLE randflake_key = randflake_keys($1)', [secret]);
  const k = "getvariable('randflake_key')";
  const result = await connection.runAndReadAll(wrong(k, `epoch(randflake_time(id, ${k}))`));
  return result.getRows()[0].join(',');
}

function clickhouse() {
  const session = new (require('chdb').Session)();
  try {
    for (const statement of functions.split(/;\n/).filter(text => text.trim())) session.query(statement);
    session.query('CREATE TABLE vectors (raw Int64, id Int64, time Int64, node Int64, sequence Int64) ENGINE = Memory');
    for (let i = 0; i < rows.length; i += 1000) session.query(`INSERT INTO vectors VALUES ${rows.slice(i, i + 1000)}`);
    for (const text of bad) {
      let keys;
      try { keys = session.queryBind('SELECT randflake_keys({secret:String})', { secret: text }, 'CSV'); } catch { continue; }
      throw new Error(`a secret ${text}: ${keys}`);
    }
    return session.queryBind(`WITH randflake_keys({secret:String}) AS k ${wrong('k', 'toUnixTimestamp(randflake_time(id, k))')}`, { secret }, 'CSV').trim();
  } finally {
    session.cleanup();
  }
}

(async () => console.log(await { duckdb, clickhouse }[name]()))();
