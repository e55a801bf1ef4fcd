-- One call, atomic and durable. Go puts a line before it that says whether it may write: then Redis runs no
-- part of it where it can't, as when memory is full. A script that fails isn't rolled back, so everything
-- is checked before anything is changed.
--
-- KEYS  entries   hash: name -> value
--       names     sorted set: the same names, all with score 0, so that they are ordered by their bytes
--       position  hash: swaps that took effect, and how many entries there must be
--
-- ARGV  operation, how many replicas must be connected, and for
--       read      from, to, limit, names
--       swap      how many are expected, their names and values; names and values to put
--
-- Where there may be no value, '' stands for none, and the value comes after a '='.

local ENTRIES, NAMES, POSITION = KEYS[1], KEYS[2], KEYS[3]
local operation, replicas = ARGV[1], tonumber(ARGV[2])
local info = redis.call('INFO', 'server', 'replication', 'cluster')

local function fail(...)
  error({err = string.format(...)})
end

local function field(name)
  return string.match(info, '\n' .. name .. ':(%w+)') or fail('ERR INFO does not tell %s', name)
end

local function answer(position, swapped, ...)
  local time = redis.call('TIME')
  -- A run of the server, and the history that it goes on with. Redis draws a new one when it is promoted, and
  -- when it forgets that it was. In a cluster, its epoch grows when a slot comes back to it that another had.
  local epoch = field('cluster_enabled') == '1' and string.match(redis.call('CLUSTER', 'INFO'), 'cluster_my_epoch:(%d+)')
  local words = {time[1], time[2], string.format('%.0f', position), swapped, field('run_id') .. ' ' .. field('master_replid') .. ' ' .. (epoch or '')}
  for _, list in ipairs({...}) do
    for _, word in ipairs(list) do
      words[#words + 1] = word
    end
  end
  return words
end

local function values(names)
  local found = #names > 0 and redis.call('HMGET', ENTRIES, unpack(names)) or {}
  for i, value in ipairs(found) do
    found[i] = value and '=' .. value or ''
  end
  return found
end

-- count returns what text says if HINCRBY takes it, and a double holds it.
local function count(text)
  local n = tonumber(text)
  return n and n >= 0 and n < 2 ^ 53 and string.format('%.0f', n) == text and n
end

local function read(position)
  local names = redis.call('ZRANGE', NAMES, '[' .. ARGV[3], '(' .. ARGV[4], 'BYLEX', 'LIMIT', 0, ARGV[5])
  return answer(position, 'false', values({unpack(ARGV, 6)}), names, values(names))
end

local function swap(position)
  local names, first = {}, 4 + 2 * ARGV[3]
  for i = 4, first - 1, 2 do
    names[#names + 1] = ARGV[i]
  end
  for _, key in ipairs(KEYS) do
    redis.call('PERSIST', key)
  end
  local found = values(names)
  for i, value in ipairs(found) do
    if value ~= ARGV[3 + 2 * i] then
      redis.call('HINCRBY', POSITION, 'swaps', 0) -- WAIT waits for what was written, and so for what was found
      return answer(position, 'false', found)
    end
  end
  for i = first, #ARGV, 2 do
    if redis.call('HSET', ENTRIES, ARGV[i], ARGV[i + 1]) == 1 then
      redis.call('ZADD', NAMES, 0, ARGV[i])
      redis.call('HINCRBY', POSITION, 'entries', 1)
    end
  end
  return answer(redis.call('HINCRBY', POSITION, 'swaps', 1), 'true', found)
end

local connected = tonumber(field('connected_slaves'))
if field('role') ~= 'master' then
  fail('READONLY the server is a replica')
elseif connected < replicas then
  fail('NOREPLICAS %d of %d replicas are connected', connected, replicas)
elseif operation == 'look' then
  return answer(connected, 'false')
end
local entries, names = redis.call('HLEN', ENTRIES), redis.call('ZCARD', NAMES)
local swaps, all = unpack(redis.call('HMGET', POSITION, 'swaps', 'entries'))
if operation == 'prepare' and not swaps and not all and entries + names == 0 then
  return answer(redis.call('HSET', POSITION, 'swaps', 0, 'entries', 0), 'false')
elseif not swaps and not all and entries + names == 0 then
  fail('NOSTORE')
elseif not count(swaps) or count(all) ~= entries or entries ~= names then
  fail('CORRUPT there are %d entries and %d names, after %s swaps that left %s', entries, names, tostring(swaps), tostring(all))
end
return operation == 'prepare' and answer(count(swaps), 'false') or operation == 'read' and read(count(swaps)) or swap(count(swaps))
