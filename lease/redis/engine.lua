-- One call, atomic. Go puts a line before it that says whether it may write: then Redis runs no part of it
-- where it can't, as when memory is full. What fails isn't rolled back, so all is checked before a change.
-- KEYS  entries, a hash: name -> value, and #swaps -> how many took effect
--       names, a sorted set: the same names, all with score 0, so that they are ordered by their bytes
-- ARGV  operation, how many replicas must be connected, and for
--       read: from, to, limit, names
--       swap: how many are expected; for each its name, 1 or, for none, 0, and its value; names and values to put,
--       or ! and the name of one to remove
local ENTRIES, NAMES = unpack(KEYS)
local operation, replicas = ARGV[1], tonumber(ARGV[2])
local time, info = redis.call('TIME'), redis.call('INFO', 'server', 'replication', 'cluster')
local named, page, swapped = {}, {}, 1

local function field(name)
  local _, at = string.find(info, '\n' .. name .. ':', 1, true) -- a plain search is many times faster than a pattern
  return string.match(info, '^%w+', at + 1)
end

-- A run of the server, and the history that it goes on with. Redis draws a new one when it is promoted, and
-- when it forgets that it was. In a cluster, its epoch grows when a slot comes back to it that another had.
local lineage = field('run_id') .. ' ' .. field('master_replid')
if field('cluster_enabled') == '1' then
  lineage = lineage .. ' ' .. string.match(redis.call('CLUSTER', 'INFO'), 'cluster_my_epoch:(%d+)')
end

local function answer(position, swapped)
  return {string.format('%s %s %.0f %d', time[1], time[2], position, swapped), lineage, named, page}
end

-- add appends a name and its value, false if there is none, and returns the value.
local function add(list, name)
  list[#list + 1] = name
  list[#list + 1] = redis.call('HMGET', ENTRIES, name)[1]
  return list[#list]
end

local connected = tonumber(field('connected_slaves'))
if field('role') ~= 'master' then return {err = 'READONLY the server is a replica'} end
if connected < replicas then return {err = string.format('NOREPLICAS %d of %d replicas are connected', connected, replicas)} end
if operation == 'look' then return answer(connected, 0) end
local fields, names, swaps = redis.call('HLEN', ENTRIES), redis.call('ZCARD', NAMES), redis.call('HMGET', ENTRIES, '#swaps')[1]
local counts = swaps and #swaps < 16 and (swaps == '0' or string.match(swaps, '^[1-9]%d*$')) -- for HINCRBY, and in a double
if fields + names == 0 and operation ~= 'prepare' then return {err = 'NOSTORE nothing is there'} end
if fields + names > 0 and not (counts and fields == names + 1) then
  return {err = string.format('CORRUPT there are %d fields and %d names, and #swaps is %s', fields, names, tostring(swaps))}
end
if operation == 'prepare' then return answer(redis.call('HINCRBY', ENTRIES, '#swaps', 0), 0) end
if operation == 'read' then
  for i = 6, #ARGV do add(named, ARGV[i]) end
  for _, name in ipairs(ARGV[5] == '0' and {} or redis.call('ZRANGE', NAMES, '[' .. ARGV[3], '(' .. ARGV[4], 'BYLEX', 'LIMIT', 0, ARGV[5])) do
    if not add(page, name) then return {err = 'CORRUPT there is a name without an entry, ' .. name} end
  end
  return answer(swaps, 0)
end

local put = 4 + 3 * ARGV[3]
for i = 4, put - 1, 3 do
  local value = add(named, ARGV[i])
  if (value and '1' or '0') ~= ARGV[i + 1] or (value or '') ~= ARGV[i + 2] then
    swapped, put = 0, #ARGV + 1 -- nothing is put
  end
end
redis.call('PERSIST', ENTRIES)
redis.call('PERSIST', NAMES)
for i = put, #ARGV, 2 do
  local gone = string.match(ARGV[i], '^!(.*)')
  if gone then
    redis.call('HDEL', ENTRIES, gone)
    redis.call('ZREM', NAMES, gone)
  else
    redis.call('HSET', ENTRIES, ARGV[i], ARGV[i + 1])
    redis.call('ZADD', NAMES, 0, ARGV[i])
  end
end
-- Written even if it adds 0: WAIT waits for what this client wrote, and so for what was found.
return answer(redis.call('HINCRBY', ENTRIES, '#swaps', swapped), swapped)
