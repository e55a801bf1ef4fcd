# frozen_string_literal: true

require "json"
require "openssl"
require "securerandom"
require "socket"
require "uri"
begin
  require "fiddle" # a gem of its own in later releases of Ruby
rescue LoadError
  nil
end

# Unique 64-bit IDs that look random, made under leases of randflaked. See README.md.
module Randflake
  EPOCH = 1_730_000_000 # 2024-10-27 03:33:20 UTC
  MAX_SECOND = EPOCH + (1 << 30) - 1 # the last Unix second that an ID can embed, in 2058
  MAX_NODE = (1 << 17) - 1 # and the largest sequence number
  Fields = Struct.new(:second, :node, :sequence)

  # An argument can't be used. Nothing was claimed.
  class InvalidArgument < ArgumentError; end

  # randflaked refused, or did not answer. The code is one of https://connectrpc.com/docs/protocol, such as
  # "resource_exhausted", and "unavailable" if there was no answer. No secret and no token is shown.
  class ServiceError < StandardError
    # After these another replica would say the same, and nothing was done.
    FINAL = %w[invalid_argument not_found already_exists permission_denied unauthenticated resource_exhausted
               failed_precondition out_of_range unimplemented].freeze
    attr_reader :code

    def initialize(code, message)
      super("randflake: #{message} (#{code})")
      @code = code
    end

    # Whether what was asked for may have been done.
    def unknown? = !FINAL.include?(code)
  end

  # Returns the text of an ID: base32hex of the unsigned value, in lower case, without leading zeros.
  def self.to_text(id)
    integer(id, -1 << 63, (1 << 63) - 1, "ID")
    (id % (1 << 64)).to_s(32)
  end

  # Reads what to_text returned. Each ID has exactly one text; any other raises InvalidArgument.
  def self.parse(text)
    return signed(text.to_i(32)) if text.is_a?(String) && text.b.match?(/\A(0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12})\z/)

    raise InvalidArgument, "randflake: ID: want 1 to 13 digits of base32hex (0-9, a-v), without leading zeros, of at most " \
                           "64 bits, got #{text.to_s[0, 40].inspect}"
  end

  def self.signed(value) = value >= 1 << 63 ? value - (1 << 64) : value

  def self.integer(value, least, most, what)
    return value if value.is_a?(Integer) && value.between?(least, most)

    raise InvalidArgument, "randflake: #{what}: want an integer from #{least} to #{most}, got #{value.inspect[0, 40]}"
  end

  # Refuses copies and serialization, and shows nothing of what an object holds.
  module Uncopied
    def initialize_copy(*) = raise(TypeError, "randflake: #{self.class} is neither copied nor serialized: make it where it is used")
    def marshal_dump = initialize_copy
    def encode_with(*) = initialize_copy # of YAML
    def to_json(*) = initialize_copy
    def inspect = "#<#{self.class}>"
    def pretty_print(printer) = printer.text(inspect)
  end

  # SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX with Provable
  # Bounds: SPARX and LAX", ASIACRYPT 2016): a block is four 16-bit words, two branches (a, b) and (c, d), and is encrypted
  # in eight steps. A step is three rounds on each branch, then the linear layer.
  #
  # One Integer holds word a of many blocks, each in a lane of 32 bits, and likewise b, c, d. The upper half of a lane
  # takes carries and rotated bits until the mask clears it.
  class Cipher
    include Uncopied
    WIDTHS = [1, 16, 256].freeze # how many blocks go side by side

    def initialize(key)
      keys = expand(key.unpack("n8"))
      @lanes = WIDTHS.to_h { |width| [width, [keys.map { |k| k * ones(width) }, 0xffff * ones(width)]] }
    end

    # Encrypts blocks of 8 bytes, whose words are big-endian.
    def encrypt(blocks) = in_lanes(blocks) { |words, keys, mask| encrypt_words(words, keys, mask) }

    # Is the inverse of encrypt.
    def decrypt(blocks) = in_lanes(blocks) { |words, keys, mask| decrypt_words(words, keys, mask) }

    private

    def ones(width) = ("00000001" * width).hex

    def in_lanes(blocks)
      words = blocks.unpack("n*")
      words.each_slice(4 * WIDTHS.last).map do |slice|
        count = slice.size / 4
        width = WIDTHS.find { |w| w >= count }
        if width == 1
          yield(slice, *@lanes[1]).pack("n4")
        else
          columns = slice.each_slice(4).to_a.transpose.map { |column| column.pack("N*").unpack1("H*").hex }
          lanes = yield(columns, *@lanes[width])
          lanes.map { |lane| [lane.to_s(16).rjust(8 * width, "0")].pack("H*").unpack("N*").last(count) }.transpose.flatten.pack("n*")
        end
      end.join
    end

    # Returns the 100 words of round key: for each step six for one branch and six for the other, then four.
    def expand(k)
      keys = (1..16).flat_map do |i|
        now = k.first(6)
        x = ((k[0] >> 7 | k[0] << 9) + k[1]) & 0xffff
        y = (k[1] << 2 | k[1] >> 14) & 0xffff ^ x
        k = [k[6], (k[7] + i) & 0xffff, x, y, (k[2] + x) & 0xffff, (k[3] + y) & 0xffff, k[4], k[5]]
        now
      end
      keys + k.first(4)
    end

    def encrypt_words((a, b, c, d), k, mask)
      0.step(84, 12) do |i|
        i.step(i + 4, 2) do |j|
          a ^= k[j]
          b ^= k[j + 1]
          a = ((a >> 7 | a << 9) & mask) + b & mask
          b = (b << 2 | b >> 14) & mask ^ a
          c ^= k[j + 6]
          d ^= k[j + 7]
          c = ((c >> 7 | c << 9) & mask) + d & mask
          d = (d << 2 | d >> 14) & mask ^ c
        end
        t = a ^ b
        t = (t << 8 | t >> 8) & mask
        a, b, c, d = c ^ a ^ t, d ^ b ^ t, a, b
      end
      [a ^ k[96], b ^ k[97], c ^ k[98], d ^ k[99]]
    end

    def decrypt_words((a, b, c, d), k, mask)
      a, b, c, d = a ^ k[96], b ^ k[97], c ^ k[98], d ^ k[99]
      84.step(0, -12) do |i|
        t = c ^ d
        t = (t << 8 | t >> 8) & mask
        a, b, c, d = c, d, a ^ c ^ t, b ^ d ^ t
        (i + 4).step(i, -2) do |j|
          b ^= a
          b = (b >> 2 | b << 14) & mask
          a = (a ^ mask) + b & mask ^ mask # a - b
          a = (a << 7 | a >> 9) & mask ^ k[j]
          b ^= k[j + 1]
          d ^= c
          d = (d >> 2 | d << 14) & mask
          c = (c ^ mask) + d & mask ^ mask
          c = (c << 7 | c >> 9) & mask ^ k[j + 6]
          d ^= k[j + 7]
        end
      end
      [a, b, c, d]
    end
  end

  # The 128-bit key of one ID space, which opens every ID of it. Only hex reveals it.
  class Secret
    include Uncopied

    # Takes 16 bytes.
    def initialize(key)
      raise InvalidArgument, "randflake: secret: want 16 bytes that are not all zero" unless key.is_a?(String) && key.bytesize == 16 && key.b != "\0".b * 16

      @key = key.b.freeze
      @cipher = Cipher.new(@key)
    end

    # Reads 32 hexadecimal digits, or the base64 of 16 bytes, in either alphabet, with or without padding.
    def self.parse(text)
      case text.is_a?(String) && text.b
      when /\A\h{32}\z/ then new([text].pack("H*"))
      when %r{\A([0-9A-Za-z+/]{21}|[0-9A-Za-z_-]{21})[AQgw](==)?\z} then new(text[0, 22].tr("-_", "+/").unpack1("m"))
      else raise InvalidArgument, "randflake: secret: want 32 hexadecimal digits or the base64 of 16 bytes"
      end
    end

    # Reveals the secret, as 32 hexadecimal digits.
    def hex = @key.unpack1("H*")

    # Returns 16 hexadecimal digits by which two programs can compare their secrets without revealing them.
    def check_value = OpenSSL::HMAC.hexdigest("SHA256", @key, "randflake key check value")[0, 16]

    # Returns the Fields of an ID. Every integer of 64 bits opens to some, be it an ID or not.
    def open(id)
      raw = @cipher.decrypt([Randflake.integer(id, -1 << 63, (1 << 63) - 1, "ID")].pack("q<")).unpack1("Q<")
      Fields.new((raw >> 34) + EPOCH, raw >> 17 & MAX_NODE, raw & MAX_NODE)
    end

    # Returns the ID with these fields. It knows nothing of leases: a Generator makes unique IDs.
    def compose(second, node, sequence)
      Randflake.integer(second, EPOCH, MAX_SECOND, "second")
      encrypt([second - EPOCH << 34 | Randflake.integer(node, 0, MAX_NODE, "node") << 17 | Randflake.integer(sequence, 0, MAX_NODE, "sequence")]).first
    end

    # Makes the IDs of raw values.
    def encrypt(raws) = @cipher.encrypt(raws.pack("Q<*")).unpack("q<*")
  end

  # What the clients ask of their system. Tests give them another one.
  class System
    CLOCK = Process.const_defined?(:CLOCK_BOOTTIME) ? Process::CLOCK_BOOTTIME : Process::CLOCK_MONOTONIC # that runs in a sleeping machine, too

    # A page that a fork wipes, as Process._fork is not called by forks in C, and later releases of Ruby cache Process.pid.
    PAGE = begin
      libc = Fiddle.dlopen(nil)
      size = Fiddle::TYPE_SIZE_T
      mmap = Fiddle::Function.new(libc["mmap"], [Fiddle::TYPE_VOIDP, size] + [Fiddle::TYPE_INT] * 3 + [Fiddle::TYPE_LONG], Fiddle::TYPE_VOIDP)
      madvise = Fiddle::Function.new(libc["madvise"], [Fiddle::TYPE_VOIDP, size, Fiddle::TYPE_INT], Fiddle::TYPE_INT)
      page = RUBY_PLATFORM.include?("linux") && mmap.call(nil, 4096, 3, 0x22, -1, 0) # read and write, private and anonymous
      page if page && madvise.call(page, 4096, 18).zero? # MADV_WIPEONFORK; fails after a failed mmap, too
    rescue NameError, Fiddle::DLError
      nil
    end

    # Whether threads start: after a fork in C, of which Ruby does not know, they may not.
    def self.threads? = @forks == mark
    def self.forked = @forks = mark # by Ruby

    def self.mark
      return Process.pid unless PAGE

      PAGE[0, 8] = SecureRandom.bytes(8) if PAGE[0, 8] == "\0\0\0\0\0\0\0\0"
      [Process.pid, PAGE[0, 8]]
    end

    Process.singleton_class.prepend(Module.new { def _fork = super.tap { |child| System.forked if child.zero? } })
    forked

    def second = Time.now.to_i
    def monotonic = Process.clock_gettime(CLOCK)

    # A mark of this process that a fork does not keep.
    def process = System.mark
  end

  # A connection to a replica. Each call has a deadline, without a thread, which would not start in a child of a fork in C.
  class Connection
    LONGEST = 1 << 22 # bytes of an answer

    def initialize(uri, tls, deadline, system)
      @system, @buffer = system, +"".b
      @io = Socket.tcp(uri.hostname, uri.port, connect_timeout: left(deadline))
      @io.setsockopt(:TCP, :NODELAY, true)
      return unless uri.scheme == "https"

      @io = OpenSSL::SSL::SSLSocket.new(@io, tls || OpenSSL::SSL::SSLContext.new.tap { |c| c.set_params(verify_hostname: false) })
      @io.sync_close = true
      @io.hostname = uri.hostname unless uri.hostname.match?(/\A[\d.]+\z|:/) # an IP address
      wait(deadline) { @io.connect_nonblock(exception: false) }
      @io.post_connection_check(uri.hostname) # for IP addresses, too
    rescue StandardError
      close
      raise
    end

    def close = @io&.close

    # Returns status and body of the answer, and whether the connection can be used again.
    def post(request, deadline)
      raise EOFError, "the connection has ended" unless @io.read_nonblock(1, exception: false) == :wait_readable

      request = request.byteslice(wait(deadline) { @io.write_nonblock(request, exception: false) }..) until request.empty?
      begin
        head = line(deadline, "\r\n\r\n")
        status = head[%r{\AHTTP/1\.[01] (\d{3})\b}, 1].to_i
        raise IOError, "the answer is not of HTTP" if status.zero?
      end while status < 200
      length, coding, kept = %w[content-length transfer-encoding connection].map { |name| head[/^#{name}:[ \t]*([^\r\n]*)/i, 1] }
      text = coding ? chunks(deadline) : take(Integer(length.to_s, 10, exception: false) || -1, deadline)
      [status, text, head.start_with?("HTTP/1.1") && kept.to_s.downcase != "close" && @buffer.empty?]
    end

    private

    def left(deadline)
      seconds = deadline - @system.monotonic
      seconds.positive? ? seconds : raise(Errno::ETIMEDOUT)
    end

    # Calls the block until it need not wait.
    def wait(deadline)
      loop do
        done = yield
        case done
        when :wait_readable then @io.to_io.wait_readable(left(deadline))
        when :wait_writable then @io.to_io.wait_writable(left(deadline))
        else return done
        end
      end
    end

    def fill(deadline)
      left(deadline)
      part = wait(deadline) { @io.read_nonblock(1 << 16, exception: false) } or raise EOFError, "the answer is cut off"
      raise IOError, "the answer is too long" if (@buffer << part).bytesize > LONGEST + (1 << 17)
    end

    def line(deadline, ending = "\r\n")
      fill(deadline) until (at = @buffer.index(ending))
      @buffer.slice!(0, at + ending.bytesize)
    end

    def take(length, deadline)
      raise IOError, "the answer is too long, or does not say how long" unless length.between?(0, LONGEST)

      fill(deadline) while @buffer.bytesize < length
      @buffer.slice!(0, length)
    end

    def chunks(deadline)
      text = +"".b
      while (length = Integer(line(deadline)[/\A\h{1,8}/] || "", 16)).positive?
        text << take(length + 2, deadline).delete_suffix("\r\n")
        raise IOError, "the answer is too long" if text.bytesize > LONGEST
      end
      nil until line(deadline) == "\r\n" # trailers
      text
    rescue ArgumentError
      raise IOError, "the answer is not of HTTP"
    end
  end

  # Calls one space of randflaked, through any of its replicas, over connections that are kept. For use by many threads.
  class Service
    include Uncopied
    attr_reader :limit, :system

    # addresses are URLs such as "https://ids.internal:8443", of replicas. token is a bearer token, or what returns the one
    # to use now when it is called. limit is how many seconds a call may take, all replicas together. tls is an
    # OpenSSL::SSL::SSLContext for a private authority or a client certificate.
    def initialize(addresses, space, token: nil, limit: 10, tls: nil, system: System.new)
      @addresses = Array(addresses).map do |address|
        uri = address.is_a?(String) && address.match?(%r{\Ahttps?://[^\s/?#@\\]+(/[^\s?#@\\]*)?\z}) && URI(address)
        uri && uri.hostname ? uri : raise(InvalidArgument, "randflake: address: want one such as https://ids.internal:8443, without user and query")
      rescue URI::InvalidURIError
        raise InvalidArgument, "randflake: address: want a URL", cause: nil
      end
      raise InvalidArgument, "randflake: want an address at least, and a time limit" unless @addresses.any? && limit.positive?

      @space, @token, @limit, @tls, @system = space, token, limit, tls, system
      @turn = 0 # the replica that answered last
    end

    # Has the service make up to 65,536 IDs. Those of an answer that is lost are lost.
    def mint(count = 1, limit = @limit)
      call("IDService/Mint", limit, { space: @space, count: Randflake.integer(count, 1, 65_536, "count"), form: "FORM_NUMBER" }) { |a| numbers(a, count) }
    end

    # Takes up to 65,536 numbers of a counter, in order. Those of an answer that is lost are lost.
    def next(counter, count = 1)
      call("CounterService/Next", @limit, { counter: counter, count: Randflake.integer(count, 1, 65_536, "count") }) { |a| numbers(a, count) }
    end

    Lease = Struct.new(:node, :start, :last, :since, :cursor) # last is its last second

    # Leases nodes, for a Generator.
    def acquire(nodes, ttl, owner, check, retried, limit)
      call("LeaseService/Acquire", limit, { space: @space, nodes: nodes, ttlSeconds: ttl, owner: owner, check: check, retry: retried }) do |answer|
        lease = answer["lease"].is_a?(Hash) ? answer["lease"] : {}
        first, last, start, high = %w[firstNode lastNode start highWater].map { |name| whole(lease.fetch(name, 0)) }
        unless lease["owner"] == owner && first >= 0 && last == first + nodes - 1 && last <= MAX_NODE && start.between?(EPOCH, high) && high <= MAX_SECOND
          raise ServiceError.new("unavailable", "randflaked answered with a lease that was not asked for")
        end
        Lease.new(first, start, high, nil, 0)
      end
    end

    private

    # Asks one replica after the other. The block reads an answer, or raises.
    def call(procedure, limit, fields)
      deadline = system.monotonic + limit
      turn = @turn
      @addresses.size.downto(1) do |left|
        answer = yield ask(turn, procedure, JSON.generate(fields), (deadline - system.monotonic) / left)
        @turn = turn
        return answer
      rescue ServiceError => e
        raise if left == 1 || !e.unknown? || system.monotonic >= deadline

        turn = (turn + 1) % @addresses.size
        fields = fields.merge(retry: true) if fields.key?(:retry)
      end
    end

    def ask(turn, procedure, body, seconds)
      uri = @addresses[turn]
      token = @token.respond_to?(:call) ? @token.call : @token
      raise InvalidArgument, "randflake: token: want visible ASCII characters" unless token.nil? || token.match?(/\A[!-~]+\z/)

      where = "#{procedure} at #{uri.host}"
      request = "POST #{uri.path.chomp('/')}/randflake.v1.#{procedure} HTTP/1.1\r\nHost: #{uri.host}:#{uri.port}\r\n" \
                "Content-Type: application/json\r\nConnect-Protocol-Version: 1\r\nContent-Length: #{body.bytesize}\r\n" \
                "#{"Authorization: Bearer #{token}\r\n" if token}\r\n#{body}"
      read(where, *post(turn, request, system.monotonic + seconds))
    rescue SystemCallError, IOError, SocketError, OpenSSL::SSL::SSLError => e
      raise ServiceError.new("unavailable", "#{where}: no answer: #{e.class}: #{e.message}"), cause: nil
    end

    # Posts over a connection that nobody else uses meanwhile. One that was kept may have ended: then over a new one.
    def post(turn, request, deadline)
      process = system.process
      @idle, @process = Array.new(@addresses.size) { Queue.new }, process unless @process == process # a parent's are not for its child
      idle = @idle[turn]
      begin
        kept = idle.empty? ? nil : idle.pop(true)
        connection = kept || Connection.new(@addresses[turn], @tls, deadline, system)
        status, text, keep = connection.post(request, deadline)
        keep ? idle << connection : connection.close
        [status, text]
      rescue EOFError, Errno::ECONNRESET, Errno::EPIPE
        connection&.close
        kept ? retry : raise
      rescue StandardError
        connection&.close
        raise
      end
    end

    def read(where, status, text)
      answer = begin
        JSON.parse(text, max_nesting: 32)
      rescue JSON::ParserError, EncodingError
        nil
      end
      return answer if status == 200 && answer.is_a?(Hash)

      told = status != 200 && answer.is_a?(Hash) ? answer : {}
      code = told["code"].to_s[/\A[a-z_]{1,30}\z/] || "unavailable"
      message = told.fetch("message", "no message of randflaked").to_s.scrub.gsub(/[^ -~]+/, " ")[0, 300]
      raise ServiceError.new(code, "#{where}: status #{status}: #{message}")
    end

    def numbers(answer, count)
      got = answer["numbers"]
      return got.map { |number| whole(number) } if got.is_a?(Array) && got.size == count

      raise ServiceError.new("unavailable", "randflaked answered without the #{count} numbers that were asked for")
    end

    # Reads an integer by the JSON mapping of protobuf: one of 64 bits is a text.
    def whole(value)
      value = Integer(value, 10) if value.is_a?(String) && value.match?(/\A-?\d{1,19}\z/)
      value.is_a?(Integer) ? value : raise(ServiceError.new("unavailable", "randflaked answered with something other than an integer"))
    end
  end

  # What a process holds, and at most one call at a time for more of it. After a fork it holds nothing.
  class Keeping
    include Uncopied
    State = Struct.new(:process, :mutex, :changed, :held, :flight, :failures, :later, :token)
    Flight = Struct.new(:done, :error)
    PATIENCE = 1 # second for a call in the foreground that can wait

    # Returns one new ID. Raises ServiceError if the service gives nothing to make it from.
    def generate = fill(1).first

    private

    def prepare(service)
      @service, @system = service, service.system
      @state = fresh(@system.process)
    end

    def fresh(process) = State.new(process, Mutex.new, ConditionVariable.new, nil, nil, 0, -Float::INFINITY, nil)

    # Calls the block with the state of this process, under its lock, until it returns something. Before each further call
    # there is an answer of the service.
    def claim
      process, state = @system.process, @state
      state = @state = fresh(process) unless state.process == process
      state.mutex.synchronize do
        deadline = nil
        until (claimed = yield state, now = @system.monotonic)
          raise ServiceError.new("unavailable", "leases end before they can be used") if now >= deadline ||= now + @service.limit

          flight = start(state, @service.limit)
          state.changed.wait(state.mutex) until flight.done
          raise flight.error if flight.error
        end
        claimed
      end
    end

    # Makes a call, without the lock under which this is called: in a thread of its own, unless threads don't start here.
    def start(state, limit, now = Float::INFINITY)
      return state.flight if state.flight || now < state.later

      state.flight = flight = Flight.new(false, nil)
      begin
        raise ThreadError unless System.threads?

        Thread.new { fly(state, flight, @service.limit) }
      rescue ThreadError # then in the foreground
        state.mutex.unlock
        begin
          fly(state, flight, limit)
        ensure
          state.mutex.lock
        end
      end
      flight
    end

    def fly(state, flight, limit)
      fetch(state, limit)
      state.failures = 0
    rescue StandardError => e
      flight.error = e
      state.later = @system.monotonic + 2**[state.failures, 4].min
      state.failures += 1
    ensure
      state.mutex.synchronize do
        state.flight, flight.done = nil, true
        state.changed.broadcast
      end
    end
  end

  # Makes unique IDs under leases, for many threads. It calls the service only for another lease, in the background.
  class Generator < Keeping
    # Leases nodes, each of which makes 131,072 IDs a second, for ttl seconds each time.
    def initialize(service, secret, nodes: 1, ttl: 300)
      @nodes = Randflake.integer(nodes, 1, MAX_NODE + 1, "nodes")
      @ttl = Randflake.integer(ttl, 1, 1 << 30, "ttl")
      @secret, @check, @places = secret, secret.check_value, nodes << 17
      prepare(service)
    end

    # Returns count new IDs, at most 131,072 times the nodes.
    def fill(count)
      Randflake.integer(count, 1, @places, "count")
      lease, first = claim { |state, now| places(state, now, count) }
      @secret.encrypt((first...first + count).map { |p| raw(lease, p) })
    end

    private

    # Returns the lease and the first of count places in it, or nil if another lease is needed.
    def places(state, now, count)
      state.held = nil if state.held && now - state.held.since >= @ttl
      start(state, PATIENCE, now) if state.held && now - state.held.since >= @ttl * 2.0 / 3
      return unless (lease = state.held)

      lease.cursor = [lease.cursor, (@system.second.clamp(lease.start, lease.last) - lease.start) * @places].max
      return if lease.cursor + count > (lease.last - lease.start + 1) * @places

      [lease, (lease.cursor += count) - count]
    end

    # Returns the raw value of a place of a lease.
    def raw(lease, place)
      second, rest = place.divmod(@places)
      (lease.start + second - EPOCH << 34) + (lease.node << 17) + rest
    end

    # After an unknown outcome the next call has the same token, for up to a minute.
    def fetch(state, limit)
      now = @system.monotonic
      retried = state.token && now - state.token[1] <= 60
      state.token = [format("%012x", @system.second) + SecureRandom.hex(10), now] unless retried
      owner, since = state.token
      lease = @service.acquire(@nodes, @ttl, owner, @check, retried || false, limit)
      lease.since = since
      state.mutex.synchronize { state.held, state.token = lease, nil }
    rescue ServiceError => e
      state.token = nil unless e.unknown?
      raise
    end
  end

  # Gives away IDs that the service makes, 512 at a time: without the secret, and without a call for each ID.
  class Minter < Keeping
    BATCH = 512
    LONGEST = 300 # seconds for which a batch is used

    def initialize(service) = prepare(service)

    # Returns up to 65,536 new IDs.
    def fill(count)
      Randflake.integer(count, 1, 65_536, "count")
      ids = []
      claim { |state, now| take(state, now, ids, count) } while ids.size < count
      ids
    end

    private

    def take(state, now, ids, count)
      batches = (state.held || []).reject { |since, batch| batch.empty? || now - since >= LONGEST }
      state.held = batches
      return if batches.empty?

      ids.concat(batches.first[1].shift(count - ids.size))
      start(state, PATIENCE, now) if batches.sum { |_, batch| batch.size } <= BATCH / 4
      ids
    end

    def fetch(state, limit)
      since = @system.monotonic
      batch = [since, @service.mint(BATCH, limit)]
      state.mutex.synchronize { state.held = [*state.held, batch] }
    end
  end
end
