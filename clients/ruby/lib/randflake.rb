# frozen_string_literal: true

require "json"
require "net/http"
require "openssl"
require "securerandom"
require "timeout"

# Unique 64-bit IDs that look random, made under leases of randflaked. See README.md.
module Randflake
  EPOCH = 1_730_000_000 # 2024-10-27 03:33:20 UTC
  MAX_SECOND = EPOCH + (1 << 30) - 1 # the last Unix second that an ID can embed, in 2058
  MAX_NODE = (1 << 17) - 1 # and the largest sequence number
  IDS = (-(1 << 63)..(1 << 63) - 1).freeze
  Fields = Struct.new(:second, :node, :sequence)

  # An argument can't be used. Nothing was claimed.
  class InvalidArgument < ArgumentError; end

  # randflaked refused, or did not answer. The code is one of https://connectrpc.com/docs/protocol, such as
  # "resource_exhausted", and "unavailable" if there was no answer. If unknown is true, what was asked for may have been
  # done. No secret and no token is shown.
  class ServiceError < StandardError
    FINAL = %w[invalid_argument not_found already_exists permission_denied unauthenticated resource_exhausted
               failed_precondition out_of_range unimplemented].freeze
    attr_reader :code, :unknown

    def initialize(code, message, unknown)
      super("randflake: #{message.gsub(/[^ -~]+/, " ")[0, 400]} (#{code})")
      @code, @unknown = code, unknown
    end
  end

  # Returns the text of an ID: base32hex of the unsigned value, in lower case, without leading zeros.
  def self.to_text(id) = (integer(id, IDS, "ID") % (1 << 64)).to_s(32)

  # Reads what to_text returned. Each ID has exactly one text; any other raises InvalidArgument.
  def self.parse(text)
    value = text.to_s.b.match?(/\A[0-9a-v]{1,13}\z/) ? text.to_i(32) : 1 << 64
    return [value].pack("Q").unpack1("q") if value < 1 << 64 && value.to_s(32) == text
    raise InvalidArgument, "randflake: ID: want 1 to 13 digits of base32hex (0-9, a-v), without leading zeros, " \
                           "of at most 64 bits, got #{text.to_s[0, 40].inspect}"
  end

  # Returns an argument that is an integer in a range.
  def self.integer(value, range, what)
    return value if value.is_a?(Integer) && range.cover?(value)
    raise InvalidArgument, "randflake: #{what}: want an integer in #{range}, got #{value.inspect[0, 40]}"
  end

  # Refuses copies and serialization, also by YAML and Rails, and shows nothing of what an object holds.
  module Uncopied
    %i[initialize_copy marshal_dump encode_with to_json as_json].each do |name|
      define_method(name) { |*| raise TypeError, "randflake: #{self.class} can't be copied: make it where it is used" }
    end
    def inspect = "#<#{self.class}>"
  end

  # The 128-bit key of one ID space, which opens every ID of it.
  #
  # The cipher is SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX with
  # Provable Bounds: SPARX and LAX", ASIACRYPT 2016): a block is four 16-bit words, two branches (a, b) and (c, d), and is
  # encrypted in eight steps. A step is three rounds on each branch, then the linear layer.
  #
  # One Integer holds many blocks side by side. Of each, x holds a and c, and y holds b and d, in lanes of 32 bits, whose
  # upper half takes carries and rotated bits until the mask clears it. left is the mask of a and b alone.
  class Secret
    include Uncopied
    WIDTHS = [1, 16, 256].freeze # how many blocks go side by side

    # Secret.parse reads 32 hexadecimal digits, or the base64 of 16 bytes, in either alphabet, with or without padding.
    singleton_class.alias_method :parse, :new

    def initialize(text)
      case text.to_s.b
      when /\A\h{32}\z/ then @key = [text].pack("H*")
      when %r{\A([0-9A-Za-z+/]{21}|[0-9A-Za-z_-]{21})[AQgw](==)?\z} then @key = text.tr("-_", "+/").unpack1("m")
      end
      unless @key && @key != "\0" * 16
        raise InvalidArgument, "randflake: secret: want 32 hexadecimal digits or the base64 of 16 bytes, not all zero"
      end
      pairs = expand(@key.unpack("n8"))
      @lanes = WIDTHS.to_h do |width|
        ones = ("0000000000000001" * width).hex
        keys = pairs.map { |left, right| (left << 32 | right) * ones }
        [width, [keys, 0x0000ffff0000ffff * ones, 0x0000ffff00000000 * ones]]
      end
    end

    # Returns 16 hexadecimal digits by which two programs can compare their secrets without revealing them.
    def check_value = OpenSSL::HMAC.hexdigest("SHA256", @key, "randflake key check value")[0, 16]

    # Returns the Fields of an ID. Every integer of 64 bits opens to some, be it an ID or not.
    def open(id)
      block = [Randflake.integer(id, IDS, "ID")].pack("q<").unpack1("Q>")
      raw = [decrypt_block(block, *@lanes[1])].pack("Q>").unpack1("Q<")
      Fields.new((raw >> 34) + EPOCH, raw >> 17 & MAX_NODE, raw & MAX_NODE)
    end

    # Returns the ID with these fields. It knows nothing of leases: a Generator makes unique IDs.
    def compose(second, node, sequence)
      second = Randflake.integer(second, EPOCH..MAX_SECOND, "second") - EPOCH
      node = Randflake.integer(node, 0..MAX_NODE, "node")
      encrypt([second << 34 | node << 17 | Randflake.integer(sequence, 0..MAX_NODE, "sequence")]).first
    end

    # Makes the IDs of raw values.
    def encrypt(raws)
      raws.each_slice(WIDTHS.last).flat_map do |slice|
        width = WIDTHS.find { |w| w >= slice.size }
        blocks = encrypt_blocks(slice.pack("Q<*").unpack1("H*").hex, *@lanes[width])
        [blocks.to_s(16).rjust(16 * width, "0")].pack("H*").unpack("q<*").last(slice.size)
      end
    end

    private

    # Returns the pairs of round keys, for the left branch and the right one: six in each step, and two at the end.
    def expand(k)
      sixes = Array.new(16) do |i|
        now = k.first(6)
        x = ((k[0] >> 7 | k[0] << 9) + k[1]) & 0xffff
        y = (k[1] << 2 | k[1] >> 14) & 0xffff ^ x
        k = [k[6], (k[7] + i + 1) & 0xffff, x, y, (k[2] + x) & 0xffff, (k[3] + y) & 0xffff, k[4], k[5]]
        now
      end
      sixes.each_slice(2).flat_map { |left, right| left.zip(right) } << [k[0], k[2]] << [k[1], k[3]]
    end

    def encrypt_blocks(blocks, keys, mask, left)
      x, y = blocks >> 16 & mask, blocks & mask
      0.step(42, 6) do |i|
        i.step(i + 4, 2) do |j|
          x ^= keys[j]
          y ^= keys[j + 1]
          x = ((x >> 7 | x << 9) & mask) + y & mask
          y = (y << 2 | y >> 14) & mask ^ x
        end
        a, b = x & left, y & left
        t = a ^ b
        t = (t << 8 | t >> 8) & left
        x = (x ^ a) << 32 ^ a ^ t | a >> 32
        y = (y ^ b) << 32 ^ b ^ t | b >> 32
      end
      (x ^ keys[48]) << 16 | y ^ keys[49]
    end

    def decrypt_block(block, keys, mask, left)
      x, y = (block >> 16 & mask) ^ keys[48], (block & mask) ^ keys[49]
      42.step(0, -6) do |i|
        a, b = x << 32 & left, y << 32 & left
        t = a ^ b
        t = (t << 8 | t >> 8) & left
        x = a | (x & left ^ a ^ t) >> 32
        y = b | (y & left ^ b ^ t) >> 32
        (i + 4).step(i, -2) do |j|
          y ^= x
          y = (y >> 2 | y << 14) & mask
          x = (x ^ mask) + y & mask ^ mask # x - y
          x = (x << 7 | x >> 9) & mask ^ keys[j]
          y ^= keys[j + 1]
        end
      end
      x << 16 | y
    end
  end

  # The clocks, and what tells this process from those that it was forked from.
  module System
    CLOCK = Process.const_defined?(:CLOCK_BOOTTIME) ? Process::CLOCK_BOOTTIME : Process::CLOCK_MONOTONIC

    # A page that a fork wipes: a fork in C does not call Process._fork, and Ruby caches Process.pid from 3.3 on.
    PAGE = begin
      require "fiddle" # a gem of its own in later releases of Ruby
      libc, pointer, size, int = Fiddle.dlopen(nil), Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_INT
      mmap = Fiddle::Function.new(libc["mmap"], [pointer, size, int, int, int, Fiddle::TYPE_LONG], pointer)
      madvise = Fiddle::Function.new(libc["madvise"], [pointer, size, int], int)
      page = RUBY_PLATFORM.include?("linux") && mmap.call(nil, 4096, 3, 0x22, -1, 0) # writable, private and anonymous
      page if page && madvise.call(page, 4096, 18).zero? # MADV_WIPEONFORK; fails after a failed mmap, too
    rescue LoadError, StandardError
      nil
    end

    def self.second = Time.now.to_i
    def self.monotonic = Process.clock_gettime(CLOCK)

    # A mark of this process that a fork does not keep.
    def self.process
      @mark, PAGE[0] = Object.new, 1 if PAGE && PAGE[0].zero?
      [Process.pid, @mark]
    end

    # Whether threads start: after a fork in C, of which Ruby does not know, they may not.
    def self.threads? = @known == process
    def self.know = @known = process

    Process.singleton_class.prepend(Module.new { def _fork = super.tap { |child| System.know if child.zero? } })
    know
  end

  # Calls one space of randflaked, through any of its replicas, over connections that are kept. For use by many threads.
  class Service
    include Uncopied
    Lease = Struct.new(:node, :start, :last, :since, :cursor) # last is its last second
    LONGEST = 1 << 22 # bytes of an answer
    attr_reader :limit

    # addresses are URLs of replicas, such as "https://ids.internal:8443". token is a bearer token, or what returns the
    # one to use now when it is called. limit is how many seconds a call may take, all replicas together. tls has
    # attributes of Net::HTTP for a private authority or a client certificate: ca_file, cert, key and others.
    def initialize(addresses, space, token: nil, limit: 10, tls: {})
      @addresses = Array(addresses).map do |address| # the one that answered last comes first
        uri = URI(address.to_s)
        uri.is_a?(URI::HTTP) && uri.host.to_s != "" && !uri.userinfo ? uri : raise(URI::Error)
      rescue URI::Error # which may show a password
        raise InvalidArgument, "randflake: address: want a URL such as https://ids.internal:8443", cause: nil
      end
      unless @addresses.any? && limit.is_a?(Numeric) && limit.positive?
        raise InvalidArgument, "randflake: want one address or more, and a limit of more than 0 seconds"
      end
      @space, @token, @limit, @tls = space, token, limit, tls
      @idle = Hash.new { |all, key| all[key] = [] } # connections by process, as a child can't use its parent's, and URL
    end

    # Has the service make up to 65,536 IDs. Those of an answer that is lost are lost.
    def mint(count = 1, limit = @limit)
      numbers("IDService/Mint", limit, count, space: @space, form: "FORM_NUMBER")
    end

    # Takes up to 65,536 numbers of a counter, in order. Those of an answer that is lost are lost.
    def next(counter, count = 1) = numbers("CounterService/Next", @limit, count, counter: counter)

    # Leases nodes, for a Generator.
    def acquire(limit, **request)
      call("LeaseService/Acquire", limit, space: @space, **request) do |answer|
        lease = answer.fetch("lease")
        fields = %w[firstNode lastNode start highWater].map { |name| lease.fetch(name, 0) }
        first, last, start, high = fields.map { |field| Integer(field.to_s, 10) } # JSON has those of 64 bits as texts
        unless lease["owner"] == request[:owner] && last - first == request[:nodes] - 1 && first >= 0 &&
               last <= MAX_NODE && start.between?(EPOCH, high) && high <= MAX_SECOND
          raise IOError, "not the lease that was asked for"
        end
        Lease.new(first, start, high, nil, 0)
      end
    end

    private

    def numbers(procedure, limit, count, **fields)
      Randflake.integer(count, 1..65_536, "count")
      call(procedure, limit, count: count, **fields) do |answer|
        got = answer.fetch("numbers").map { |number| Integer(number.to_s, 10) }
        got.size == count ? got : raise(IOError, "not as many numbers as were asked for")
      end
    end

    # Asks one replica after the other. The block reads the answer: where it can't, for any reason, there is none.
    def call(procedure, limit, **fields)
      headers, deadline, addresses = self.headers, System.monotonic + limit, @addresses
      hidden = headers.fetch("Authorization", "Bearer \n").delete_prefix("Bearer ")
      addresses.each.with_index do |uri, asked|
        code = "unavailable"
        seconds = (deadline - System.monotonic) / (addresses.size - asked)
        status, answer = post(uri, procedure, headers, JSON.generate(fields), seconds)
        if status == "200"
          result = yield answer
          @addresses = [uri] | addresses
          return result
        end
        code = answer["code"].to_s[/\A[a-z_]{1,30}\z/] || code
        raise IOError, "status #{status}: #{answer["message"]}"
      rescue StandardError => e
        final = ServiceError::FINAL.include?(code)
        fields[:retry] = true if fields.key?(:retry)
        next unless final || uri == addresses.last
        told = "#{uri.host}: #{e.message}".b.gsub(hidden, "[token]")
        raise ServiceError.new(code, told, !final || asked.positive?), cause: nil
      end
    end

    def headers
      token = @token.respond_to?(:call) ? @token.call : @token
      raise InvalidArgument, "randflake: token: want visible ASCII" unless token.nil? || token.match?(/\A[!-~]+\z/)
      fixed = { "Content-Type" => "application/json", "Connect-Protocol-Version" => "1" }
      token ? fixed.merge("Authorization" => "Bearer #{token}") : fixed
    end

    # Posts over a connection that nobody else uses meanwhile.
    def post(uri, procedure, headers, body, seconds)
      idle, threads = @idle[[System.process, uri]], System.threads?
      http, status, text = idle.pop, nil, +"".b
      # Timeout and open_timeout need a thread. Without one each step has the limit, and a first connection shows that
      # there is a server to connect to.
      Timeout.timeout(threads ? seconds : nil, Timeout::Error) do
        Socket.tcp(uri.hostname, uri.port, connect_timeout: seconds, &:close) unless threads || http
        options = { use_ssl: uri.scheme == "https", open_timeout: nil, keep_alive_timeout: 60, **@tls }
        http ||= Net::HTTP.start(uri.hostname, uri.port, nil, options)
        http.read_timeout = http.write_timeout = seconds
        http.request_post("#{uri.path.chomp('/')}/randflake.v1.#{procedure}", body, headers) do |answer|
          status = answer.code
          answer.read_body { |part| (text << part).size > LONGEST and raise IOError, "the answer is too long" }
        end
      end
      idle << http
      [status, JSON.parse(text.force_encoding(Encoding::UTF_8).scrub)]
    rescue JSON::ParserError # which would show all of a proxy's page
      raise IOError, "status #{status}, and no JSON"
    end
  end

  # What a process holds, and at most one call at a time for more of it. After a fork it holds nothing.
  class Keeping
    include Uncopied
    State = Struct.new(:lock, :failures, :later, :call, :held, :token)
    Ended = Struct.new(:value) # a call that was made without a thread

    def initialize(service)
      @service = service
      @states = Hash.new { |states, process| states.clear[process] = State.new(Mutex.new, 0, 0) }
      @states[System.process]
    end

    # Returns one new ID. Raises ServiceError if the service gives nothing to make it from.
    def generate = fill(1).first

    private

    # Calls the block with the state of this process, under its lock, until it returns something. Before it is called
    # again a call of the service succeeds.
    def claim
      state = @states[System.process]
      loop do
        call = state.lock.synchronize do
          claimed = yield state, System.monotonic
          return claimed if claimed
          start(state, @service.limit)
        end
        error = call.value and raise error
      end
    end

    # Makes a call for more before it is needed, no sooner than earlier failures allow.
    def start_early(state, now) = now < state.later || start(state, 1)

    # Runs the block under the lock, which a call that is made without a thread has already.
    def locked(state, &block) = state.lock.owned? ? yield : state.lock.synchronize(&block)

    # Makes a call in a thread of its own, unless one is under way. Where threads don't start nobody waits for the lock.
    def start(state, limit)
      return state.call if state.call&.alive?
      raise ThreadError unless System.threads?
      state.call = Thread.new { fetch(state, @service.limit) }
    rescue ThreadError
      Ended.new(fetch(state, limit))
    end

    # Returns the error, if there is one.
    def fetch(state, limit)
      more(state, limit)
      state.failures = 0
      nil
    rescue StandardError => e
      state.later = System.monotonic + 2**[state.failures, 4].min
      state.failures += 1
      e
    end
  end

  # Makes unique IDs under leases, for many threads. It calls the service only for another lease, in the background.
  class Generator < Keeping
    # Leases nodes, each of which makes 131,072 IDs a second, for ttl seconds each time.
    def initialize(service, secret, nodes: 1, ttl: 300)
      raise InvalidArgument, "randflake: secret: want what Secret.parse returns" unless secret.is_a?(Secret)
      @nodes = Randflake.integer(nodes, 1..MAX_NODE + 1, "nodes")
      @ttl = Randflake.integer(ttl, 1..1 << 30, "ttl")
      @secret, @places = secret, nodes << 17
      super(service)
    end

    # Returns count new IDs, at most 131,072 times the nodes.
    def fill(count)
      Randflake.integer(count, 1..@places, "count")
      lease, first = claim { |state, now| places(state, now, count) }
      raws = (first...first + count).map do |place|
        second, rest = place.divmod(@places)
        (lease.start + second - EPOCH << 34) + (lease.node << 17) + rest
      end
      @secret.encrypt(raws)
    end

    private

    # Returns the lease and the first of count places in it, or nil if another lease is needed.
    def places(state, now, count)
      state.held = nil if state.held && now - state.held.since >= @ttl
      start_early(state, now) if state.held && now - state.held.since >= @ttl * 2.0 / 3
      return unless (lease = state.held)
      lease.cursor = [lease.cursor, (System.second.clamp(lease.start, lease.last) - lease.start) * @places].max
      return if lease.cursor + count > (lease.last - lease.start + 1) * @places
      [lease, (lease.cursor += count) - count]
    end

    # After an unknown outcome the next call has the same token, for up to a minute.
    def more(state, limit)
      now, token = System.monotonic, state.token
      again = !token.nil? && now - token.last <= 60
      state.token = token = [format("%012x", System.second) + SecureRandom.hex(10), now] unless again
      request = { nodes: @nodes, ttlSeconds: @ttl, owner: token.first, check: @secret.check_value, retry: again }
      lease = @service.acquire(limit, **request)
      lease.since = token.last
      # Once, as an exception in start, such as one of Timeout, may lead to another call with this token.
      locked(state) { state.held, state.token = lease, nil if state.token.equal?(token) }
    rescue ServiceError => e
      state.token = nil unless e.unknown
      raise
    end
  end

  # Gives away IDs that the service makes, 512 at a time: without the secret, and without a call for each ID.
  class Minter < Keeping
    BATCH = 512
    LONGEST = 300 # seconds for which an ID is kept

    # Returns up to 65,536 new IDs.
    def fill(count)
      Randflake.integer(count, 1..65_536, "count")
      ids = []
      ids.concat(claim { |state, now| take(state, now, count - ids.size) }) while ids.size < count
      ids
    end

    private

    # Returns up to count IDs, or nil if there is none. Each is held with the time before it was made.
    def take(state, now, count)
      held = state.held ||= []
      held.shift while held.any? && now - held.first.last >= LONGEST
      return if held.empty?
      taken = held.shift(count).map(&:first)
      start_early(state, now) if held.size <= BATCH / 4
      taken
    end

    def more(state, limit)
      since = System.monotonic
      made = @service.mint(BATCH, limit).map { |id| [id, since] }
      locked(state) { state.held.concat(made) }
    end
  end
end
