#!lua
-- One call, atomic. By the first line Redis runs no part of it where it can't write, as when memory is full. What fails isn't
-- rolled back, so all is checked before a change.
-- KEYS  entries, a hash: name -> value, #swaps -> one more than have taken effect, and #lineage -> a random word
--       names, a sorted set: the same names, all with score 0, so that they are ordered by their bytes
-- ARGV  operation, how many replicas must be connected, and for
--       prepare: the random word, if there is none yet
--       read: names
--       list: first, last, limit
--       swap: how many are expected; for each its name, 1 or, for none, 0, and its value; names and values to put
local ENTRIES, NAMES = unpack(KEYS)
local operation, replicas = ARGV[1], tonumber(ARGV[2])
local time, info = redis.call('TIME'), redis.call('INFO', 'server', 'replication', 'cluster', 'persistence')
local found = {}

local function field(name)
  local _, at = string.find(info, '\n' .. name .. ':', 1, true) -- a plain search is many times faster than a pattern
  return string.match(info, '^%w+', at + 1)
end

-- A run of the server, and the history that it goes on with. Redis draws a new one when it is promoted, and
-- when it forgets that it was. In a cluster, its epoch grows when a slot comes back to it that another had.
local incarnation = field('run_id') .. ' ' .. field('master_replid')
if field('cluster_enabled') == '1' then
  incarnation = incarnation .. ' ' .. string.match(redis.call('CLUSTER', 'INFO'), 'cluster_my_epoch:(%d+)')
end

-- Before the first rewrite has ended, nothing is in the file. INFO does not say whether a rewrite is the first one.
local doubt = ''
if field('aof_rewrite_in_progress') ~= '0' or field('aof_rewrite_scheduled') ~= '0' then
  doubt = 'the append-only file is rewritten, maybe for the first time, so a restart may lose what was acknowledged: wait until that has ended'
end
local lineage

-- script.go reads these fields in their order.
local function answer(position, swapped)
  return {tonumber(time[1]), tonumber(time[2]), tonumber(position), swapped, lineage, incarnation, doubt, found}
end

-- readEntry adds an entry to found: its name, and its value, or false if there is none. It returns the value.
local function readEntry(name)
  local value = redis.call('HGET', ENTRIES, name)
  table.insert(found, name)
  table.insert(found, value)
  return value
end

-- isAsExpected says whether a value is the text if exists is 1, or there is none if exists is 0.
local function isAsExpected(value, exists, text)
  return (value and '1' or '0') == exists and (value or '') == text
end

local connected = tonumber(field('connected_slaves'))
if field('role') ~= 'master' then return {err = 'READONLY the server is a replica'} end
if connected < replicas then
  return {err = string.format('NOREPLICAS %d of %d replicas are connected', connected, replicas)}
end
if operation == 'prepare' then
  redis.call('HSETNX', ENTRIES, '#swaps', 1)
  redis.call('HSETNX', ENTRIES, '#lineage', ARGV[3])
end
local swaps = redis.call('HGET', ENTRIES, '#swaps')
lineage = redis.call('HGET', ENTRIES, '#lineage')
if not (swaps and lineage) then return {err = 'NOSTORE nothing is there'} end
if not string.match(swaps, '^[1-9]%d*$') or #swaps > 15 then -- at most 15 digits, which HINCRBY and Lua's double both hold
  return {err = 'CORRUPT #swaps is ' .. swaps}
end
if operation == 'prepare' then return answer(swaps, 0) end
if operation == 'read' then
  for i = 3, #ARGV do readEntry(ARGV[i]) end
  return answer(swaps, 0)
end
if operation == 'list' then
  local names = redis.call('ZRANGE', NAMES, ARGV[3], ARGV[4], 'BYLEX', 'LIMIT', 0, ARGV[5])
  for _, name in ipairs(names) do
    readEntry(name)
  end
  return answer(swaps, 0)
end

local firstExpected = 4
local firstPut = firstExpected + 3 * tonumber(ARGV[3])
local swapped = 1
for i = firstExpected, firstPut - 1, 3 do
  local value = readEntry(ARGV[i])
  if not isAsExpected(value, ARGV[i + 1], ARGV[i + 2]) then
    swapped = 0
  end
end
if swapped == 1 then
  for i = firstPut, #ARGV, 2 do
    redis.call('ZADD', NAMES, 0, ARGV[i]) -- first: it fails where there is something else
    redis.call('HSET', ENTRIES, ARGV[i], ARGV[i + 1])
  end
  redis.call('PERSIST', ENTRIES)
  redis.call('PERSIST', NAMES)
  swaps = redis.call('HINCRBY', ENTRIES, '#swaps', 1)
end
return answer(swaps, swapped)
