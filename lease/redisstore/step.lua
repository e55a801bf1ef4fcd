#!lua
-- One step of the store: an operation of lease.Store, with all checks before it, as one atomic and
-- durable change. Without flags Redis runs no part of it where it can't write.
--
-- KEYS  meta      hash: what the store knows beside its records, see load
--       ranges    hash: first node -> "last owner version start high_water"
--       ages      sorted set: every range, by size and high-water mark
--       released  sorted set: the ranges without an owner, likewise
--
-- ARGV  one JSON object:
--       op            "create", "acquire", "renew", "lookup", "release" or "distrust"
--       clock         Unix second, instead of the server's time
--       trusted       a restart or failover of Redis loses nothing
--       fresh         incarnation of a store that has to be made
--       max_ttl, max_skew        the rules that the caller knows
--       incarnation, changes     what the caller saw last
--       replicas      how many must be connected
--       held          record that the caller holds: {first, last, owner, version, start}
--       nodes, below, ttl, owner, last_used, floor    of single operations; below is the first node not allowed
--
-- Returns {status, now, not_before, incarnation, changes, max_ttl, max_skew, first, record}. The status is
--       ok       done
--       refused  by the rules: nothing but the loss of data that was noticed was written; the record
--                is what the rules were applied to, if any
--       clock    data was lost, and the clock can't be right: nothing was written
--       exists   there is one: nothing was written
--
-- Numbers are doubles. Nodes and seconds are far below 2^53, and so are versions and changes after any
-- number of steps that a server can run.
--
-- Nothing is changed before everything was checked: a script that fails isn't rolled back.

local META, RANGES, AGES, RELEASED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local EPOCH, MAX_TIMESTAMP, MAX_NODE = 1730000000, 2803741823, 131071
local NOBODY = string.rep('0', 32)
local SECONDS = 2 ^ 31 -- more than the format has
local EXACT = 2 ^ 53

local call = cjson.decode(ARGV[1])
local now = call.clock or tonumber(redis.call('TIME')[1])

local function corrupt(...)
  error({err = 'CORRUPT ' .. string.format(...)})
end

local function digits(number)
  return string.format('%.0f', number)
end

-- number returns what text says, which must be an integer from low to high.
local function number(name, text, low, high)
  local n = text and string.match(text, '^%d+$') and tonumber(text)
  if not n or n < low or n > high then
    corrupt('%s is %s', name, tostring(text))
  end
  return n
end

local function token(name, text)
  if not text or #text ~= 32 or not string.match(text, '^[0-9a-f]+$') then
    corrupt('%s is %s', name, tostring(text))
  end
  return text
end

-- What server this is: it gets another run_id at each start. One that was a replica since, and took the
-- primary's data for its own, notes whose and how far, and forgets that when it was without replicas for an hour.
-- A writable replica would lose all at once.
local info = redis.call('INFO', 'server', 'replication')
local run_id = string.match(info, '\nrun_id:(%x+)')
local lineage, followed = run_id, string.match(info, '\nsecond_repl_offset:(%d+)')
if followed then
  lineage = table.concat({run_id, string.match(info, '\nmaster_replid2:(%x+)'), followed}, ' ')
end
local connected = tonumber(string.match(info, '\nconnected_slaves:(%d+)'))
if string.match(info, '\nrole:(%a+)') ~= 'master' then
  error({err = 'READONLY the server is a replica'})
end
if connected < call.replicas then
  error({err = string.format('NOREPLICAS %d of %d replicas are connected', connected, call.replicas)})
end

-- load returns the meta hash, or nil where there is no store. No key may ever expire.
local function load()
  for _, key in ipairs(KEYS) do
    redis.call('PERSIST', key)
  end
  local ranges, ages, released = redis.call('HLEN', RANGES), redis.call('ZCARD', AGES), redis.call('ZCARD', RELEASED)
  if redis.call('HLEN', META) == 0 then
    if ranges + ages + released > 0 then
      corrupt('the meta key is missing, others are there')
    end
    return nil
  end
  local f = redis.call('HMGET', META, 'format', 'incarnation', 'predecessor', 'changes', 'max_ttl', 'max_skew',
    'not_before', 'lineage', 'ranges', 'next')
  if f[1] ~= '1' then
    corrupt('format is %s, this program knows 1', tostring(f[1]))
  end
  local m = {
    incarnation = token('incarnation', f[2]),
    predecessor = f[3] or '', -- the incarnation in whose place this one came, once the floor was set for that
    changes = number('changes', f[4], 1, EXACT - 2),
    max_ttl = number('max_ttl', f[5], 1, EXACT),
    max_skew = number('max_skew', f[6], 0, EXACT),
    not_before = number('not_before', f[7], 0, MAX_TIMESTAMP),
    lineage = f[8] or '', -- of the server that had the data when the floor was set last, or the store made
    ranges = number('ranges', f[9], 0, MAX_NODE + 1),
    next = number('next', f[10], 0, MAX_NODE + 1), -- all nodes below have a record, none from there on
  }
  if m.ranges ~= ranges or m.ranges ~= ages or released > ranges or m.next < ranges then
    corrupt('meta says %d ranges up to node %d, there are %d, indexed %d, released %d', m.ranges, m.next, ranges, ages, released)
  end
  return m
end

local function new(not_before)
  return {incarnation = call.fresh, predecessor = '', changes = 0, max_ttl = call.max_ttl, max_skew = call.max_skew,
    not_before = not_before, lineage = lineage, ranges = 0, next = 0}
end

local function save(m)
  m.changes = m.changes + 1
  redis.call('HSET', META, 'format', '1', 'incarnation', m.incarnation, 'predecessor', m.predecessor,
    'changes', digits(m.changes), 'max_ttl', digits(m.max_ttl), 'max_skew', digits(m.max_skew),
    'not_before', digits(m.not_before), 'lineage', m.lineage, 'ranges', digits(m.ranges), 'next', digits(m.next))
end

local function pack(rec)
  return table.concat({digits(rec.last), rec.owner, digits(rec.version), digits(rec.start), digits(rec.high_water)}, ' ')
end

-- find returns the record that begins at node first, or nil.
local function find(first)
  local text = redis.call('HGET', RANGES, digits(first))
  if not text then
    return nil
  end
  local name = 'record of node ' .. digits(first)
  local last, owner, version, start, high_water = string.match(text, '^(%d+) (%x+) (%d+) (%d+) (%d+)$')
  if not last then
    corrupt('%s is %q', name, text)
  end
  local rec = {
    first = first,
    last = number(name .. ': last node', last, first, MAX_NODE),
    owner = token(name .. ': owner', owner),
    version = number(name .. ': version', version, 1, EXACT - 2),
    start = number(name .. ': start', start, EPOCH, MAX_TIMESTAMP),
  }
  rec.high_water = number(name .. ': high-water mark', high_water, rec.start - 1, MAX_TIMESTAMP)
  return rec
end

local function member(first)
  return string.format('%06d', first) -- so that equal scores are ordered by node
end

-- score orders ranges by size first, then by high-water mark, as an integer below 2^49.
local function score(size, high_water)
  return size * SECONDS + high_water - EPOCH + 1
end

local function size(rec)
  return rec.last - rec.first + 1
end

-- put stores rec. The hash comes first: it is what Redis refuses when it is out of memory.
local function put(m, rec)
  local by = digits(score(size(rec), rec.high_water))
  redis.call('HSET', RANGES, digits(rec.first), pack(rec))
  redis.call('ZADD', AGES, by, member(rec.first))
  if rec.owner == NOBODY then
    redis.call('ZADD', RELEASED, by, member(rec.first))
  else
    redis.call('ZREM', RELEASED, member(rec.first))
  end
  if rec.first == m.next then
    m.ranges, m.next = m.ranges + 1, rec.last + 1
  end
end

-- oldest returns the range of so many nodes, all below the bound of the call, with the lowest high-water
-- mark between two others. Most often the first one that it looks at will do; where there are many beyond
-- the bound it reads more and more at once.
local function oldest(key, nodes, from, to)
  from, to = math.max(from, EPOCH - 1), math.min(to, MAX_TIMESTAMP)
  if from > to then
    return nil
  end
  local skip, count = 0, 1
  while true do
    local hits = redis.call('ZRANGE', key, digits(score(nodes, from)), digits(score(nodes, to)), 'BYSCORE', 'LIMIT', skip, count)
    for _, hit in ipairs(hits) do
      local first = tonumber(hit)
      if not first or first + nodes <= call.below then
        local rec = find(number('member of ' .. key, hit, 0, MAX_NODE))
        if not rec or score(size(rec), rec.high_water) ~= tonumber(redis.call('ZSCORE', key, hit)) or key == RELEASED and rec.owner ~= NOBODY then
          corrupt('%s does not agree with the record of node %s', key, hit)
        end
        return rec
      end
    end
    if #hits < count then
      return nil
    end
    skip, count = skip + count, 16 * count
  end
end

-- sizes iterates over the sizes of ranges in key, from the smallest one that has so many nodes.
local function sizes(key, nodes)
  return function()
    local hit = redis.call('ZRANGE', key, digits(nodes * SECONDS), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if not hit[1] then
      return nil
    end
    local found = math.floor(tonumber(hit[2]) / SECONDS)
    nodes = found + 1
    return found
  end
end

-- candidate returns what lease.Rules.Candidates puts first, or nil.
local function candidate(m, nodes)
  local rec = oldest(AGES, nodes, EPOCH - 1, now - 1)
  if rec then
    return rec
  end
  if m.next + nodes <= call.below then
    return {first = m.next, last = m.next + nodes - 1, owner = NOBODY, version = 0, start = 0, high_water = 0}
  end
  for larger in sizes(AGES, nodes + 1) do
    rec = oldest(AGES, larger, EPOCH - 1, now - 1)
    if rec then
      return rec
    end
  end
  local earliest
  for any in sizes(RELEASED, nodes) do
    rec = oldest(RELEASED, any, now, now + m.max_ttl)
    if rec and (not earliest or rec.high_water < earliest.high_water
        or rec.high_water == earliest.high_water and rec.first < earliest.first) then
      earliest = rec
    end
  end
  return earliest
end

local function reply(status, m, rec)
  return {status, digits(now), digits(m.not_before), m.incarnation, digits(m.changes), digits(m.max_ttl), digits(m.max_skew),
    rec and digits(rec.first) or '', rec and pack(rec) or ''}
end

-- floor is the first second that may be granted when data was lost, or nil while that can't be known.
local function floor(max_ttl, max_skew)
  local second = now + max_ttl + max_skew
  return now >= EPOCH and second <= MAX_TIMESTAMP and second or nil
end

-- current returns the store's record of the range that the caller holds, or nil.
local function current()
  local rec = call.held and find(call.held.first)
  return rec and rec.last == call.held.last and rec or nil
end

-- Did the store lose data, or go back in time, since the newest state that is known of? A lease that
-- starts before the floor was granted before it was set, and not renewed since: if its record is missing, or an older
-- one, that is the loss for which the floor was set. One that starts later than any can shows nothing.
local function lost(m, rec)
  if m.lineage ~= lineage and (followed or string.match(m.lineage, '^%x+') ~= run_id) and not call.trusted then
    return true
  end
  if m.incarnation ~= call.incarnation then
    return m.predecessor ~= call.incarnation
  end
  return m.changes < call.changes
    or call.held and call.held.start >= m.not_before and call.held.start < now + m.max_ttl + m.max_skew
      and call.held.version > (rec and rec.version or 0)
end

-- The operations return the record to store, or nothing and the record they refuse to change.

local function holds(rec)
  return rec and call.held.owner ~= NOBODY and rec.owner == call.held.owner
end

local operations = {}

function operations.acquire(m)
  local rec = candidate(m, call.nodes)
  local farthest = now + m.max_ttl - 1
  local start = rec and math.max(now, rec.high_water + 1, m.not_before)
  if not rec or now < EPOCH or start > MAX_TIMESTAMP or start > farthest or call.ttl > m.max_ttl then
    return nil, rec
  end
  rec.owner, rec.version, rec.start = call.owner, rec.version + 1, start
  rec.high_water = math.min(start + call.ttl - 1, farthest, MAX_TIMESTAMP)
  return rec
end

function operations.renew(m, rec)
  if not holds(rec) or rec.version ~= call.held.version or rec.start < m.not_before or call.ttl > m.max_ttl then
    return nil, rec
  end
  rec.version = rec.version + 1
  rec.high_water = math.max(rec.high_water, math.min(now + call.ttl - 1, MAX_TIMESTAMP))
  return rec
end

function operations.release(m, rec)
  if not holds(rec) or rec.version ~= call.held.version then
    return nil, rec
  end
  rec.owner, rec.version = NOBODY, rec.version + 1
  rec.high_water = math.min(rec.high_water, math.max(call.last_used, rec.start - 1))
  return rec
end

-- lookup writes what it found, so that it gets as durable as a renewal.
function operations.lookup(m, rec)
  if not holds(rec) then
    return nil, rec
  end
  return rec
end

local function create()
  local there = load()
  if there then
    return reply('exists', there)
  end
  local second = not call.floor and 0 or floor(call.max_ttl, call.max_skew)
  if not second then
    return reply('clock', new(0))
  end
  local m = new(second)
  save(m)
  return reply('ok', m)
end

local function step()
  local m = load() or new(0) -- who calls has seen a store: one that is missing was lost
  local rec = current()
  local raise = call.op == 'distrust' or lost(m, rec)
  if raise then
    local second = floor(math.max(m.max_ttl, call.max_ttl), math.max(m.max_skew, call.max_skew))
    if not second then
      return reply('clock', m)
    end
    m.not_before, m.lineage = math.max(m.not_before, second), lineage
    if m.incarnation == call.incarnation then
      m.changes = math.max(m.changes, call.changes)
    else
      m.predecessor = call.incarnation
    end
  end
  local after, before
  if operations[call.op] then
    after, before = operations[call.op](m, rec)
  end
  if after then
    put(m, after)
  end
  if after or raise then
    save(m)
  end
  return reply((after or call.op == 'distrust') and 'ok' or 'refused', m, after or before)
end

if call.op == 'create' then
  return create()
end
return step()
