# frozen_string_literal: true

# ruby test/run.rb runs all tests.

require_relative "../lib/randflake"
require "minitest/autorun"
require "pp"
require "tempfile"
require "yaml"

class TestSystem < Randflake::System
  attr_accessor :now, :age

  def initialize
    super
    @now, @age = 1_800_000_000, 1000.0
  end

  def second = @now
  def monotonic = @age
end

# A service without a network. Leases go from node to node.
class TestService < Randflake::Service
  attr_reader :calls, :errors
  attr_accessor :delay

  def initialize(system = TestSystem.new)
    super("http://localhost:1", "test", limit: 2, system: system)
    @calls, @errors, @lock = [], [], Mutex.new
  end

  def acquire(_nodes, _ttl, owner, _check, retried, limit)
    node, error = @lock.synchronize { [(@calls << [owner, retried, limit]).size - 1, @errors.shift] }
    sleep(@delay) if @delay
    raise Randflake::ServiceError.new(error, "for a test") if error

    Lease.new(node + (Process.pid == MAIN ? 0 : Process.pid % 1000 * 100), system.second, system.second + 299, nil, 0)
  end

  def mint(count = 1, _limit = nil)
    @lock.synchronize { Array.new(count) { |i| (@calls << [count]).size * 1000 + i } if count > 0 }
  end
end
MAIN = Process.pid

class ClientTest < Minitest::Test
  TEXT = "00112233445566778899aabbccddeeff"
  SECRET = Randflake::Secret.parse(TEXT)
  INVALID = Randflake::InvalidArgument

  def vectors(name) = JSON.parse(File.read(File.expand_path("../../../testdata/#{name}.json", __dir__)))["vectors"]

  def distinct(ids, count)
    assert_equal count, ids.size
    assert_equal count, ids.uniq.size
  end

  def test_cipher
    vectors("sparx64").group_by { |v| v["key"] }.each do |key, all|
      cipher = Randflake::Cipher.new([key].pack("H*"))
      plain, encrypted = %w[plaintext ciphertext].map { |name| [all.map { |v| v[name] }.join].pack("H*") }
      [1, 2, 17, 300].each do |times|
        assert_equal encrypted * times, cipher.encrypt(plain * times)
        assert_equal plain * times, cipher.decrypt(encrypted * times)
      end
    end
    vectors("sparx64").each do |v|
      cipher = Randflake::Cipher.new([v["key"]].pack("H*"))
      assert_equal v["ciphertext"], cipher.encrypt([v["plaintext"]].pack("H*")).unpack1("H*")
    end
  end

  def test_vectors
    vectors("randflake").each do |v|
      id, fields = v["id"].to_i, v.values_at("timestamp", "node", "sequence")
      assert_equal v["text"], Randflake.to_text(id)
      assert_equal id, Randflake.parse(v["text"])
      next if v["secret"] == "0" * 32

      secret = Randflake::Secret.parse(v["secret"])
      assert_equal fields, secret.open(id).to_a
      assert_equal id, secret.compose(*fields)
    end
    [[1_729_999_999, 0, 0], [Randflake::MAX_SECOND + 1, 0, 0], [Randflake::EPOCH, 1 << 17, 0], [Randflake::EPOCH, 0, -1], [Randflake::EPOCH, 0, 1.5]].each do |fields|
      assert_raises(INVALID) { SECRET.compose(*fields) }
    end
    assert_raises(INVALID) { SECRET.open(1 << 63) }
  end

  def test_text
    assert_equal %w[0 fvvvvvvvvvvvv 8000000000000], [0, -1, -1 << 63].map { |id| Randflake.to_text(id) }
    ["", "00", "01", "g000000000000", "10000000000000", "A", "w", " 1", "1\n", "+1", "-1", "1_1", "1\0", "ü", "\xff", "1".encode("UTF-16LE"), nil, 1].each do |text|
      assert_raises(INVALID, text.inspect) { Randflake.parse(text) }
    end
    assert_raises(INVALID) { Randflake.to_text(1 << 63) }
  end

  def test_secret
    ["ABEiM0RVZneImaq7zN3u/w==", "ABEiM0RVZneImaq7zN3u_w", TEXT.upcase].each { |text| assert_equal "7ff89b58dbefa2e6", Randflake::Secret.parse(text).check_value }
    ["", "#{TEXT}\n", "ABEiM0RVZneImaq7zN3u/x==", "ABEiM0RVZneImaq7zN3u/w=", "ABEi-0RVZneIma+7zN3u/w", "0" * 32, nil].each do |text|
      e = assert_raises(INVALID) { Randflake::Secret.parse(text) }
      refute_includes e.full_message, text unless text.to_s.empty?
    end
    service = Randflake::Service.new("http://localhost:1", "x", token: "to-ken")
    [SECRET, Randflake::Generator.new(service, SECRET), service, Randflake::Minter.new(service)].each do |object|
      shown = object.inspect + object.pretty_inspect + object.to_s + JSON.generate([object.to_s])
      [TEXT, [TEXT].pack("H*"), "to-ken"].each { |hidden| refute_includes shown.b, hidden.b }
      [-> { object.dup }, -> { object.clone }, -> { Marshal.dump(object) }, -> { object.to_yaml }, -> { JSON.generate(object) }].each { |copy| assert_raises(TypeError, &copy) }
    end
  end

  # Makes IDs until a call in the background has had its effect.
  def settle(generator)
    sleep 0.001 while generator.instance_variable_get(:@state).flight
  end

  def test_rule
    service = TestService.new(system = TestSystem.new)
    generator = Randflake::Generator.new(service, SECRET)
    fields = ->(count = 1) { generator.fill(count).map { |id| SECRET.open(id).to_a } }
    t = system.now
    assert_equal [[t, 0, 0], [t, 0, 1]], fields.(2)
    system.now -= 100
    assert_equal [[t, 0, 2]], fields.()
    system.now = t + 10
    assert_equal [[t + 10, 0, 0]], fields.()
    system.now = t + 5
    assert_equal [[t + 10, 0, 1]], fields.()
    assert_equal [[t + 11, 0, 0], [t + 11, 0, 1]], fields.(131_072).last(2)
    system.now = t + 1_000_000
    assert_equal [[t + 299, 0, 0]], fields.()
    [0, -1, 131_073, 1.0, "1", nil].each { |count| assert_raises(INVALID) { generator.fill(count) } }
    assert_equal [[t + 299, 0, 1]], fields.()
    system.now = t + 20
    assert_equal [t + 20, 1, 0], fields.(131_072).first
    calls = service.calls.size
    service.errors.push("unavailable", "unavailable", "resource_exhausted", "unavailable")
    [[199.5, 0], [0.6, 1], [0.9, 1], [0.2, 2], [1.9, 2], [0.2, 3], [3.9, 3], [0.2, 4]].each do |seconds, want|
      system.age += seconds
      assert_equal 1, fields.().first[1]
      settle(generator)
      assert_equal want, service.calls.size - calls
    end
    made = service.calls.drop(calls)
    assert_equal [false, true, true, false], made.map { |call| call[1] }
    assert_equal made[0][0], made[2][0]
    refute_equal made[2][0], made[3][0]
    assert_equal system.now, made[0][0][0, 12].hex
    system.age += 94
    service.errors.push("permission_denied")
    assert_equal "permission_denied", assert_raises(Randflake::ServiceError) { fields.() }.code
    assert_equal service.calls.size, fields.().first[1]
    service.errors.push("unavailable")
    system.age += 301
    assert_raises(Randflake::ServiceError) { fields.() }
    system.age += 61
    fields.()
    refute service.calls.last[1]
  end

  def test_background
    service = TestService.new(system = TestSystem.new)
    generator = Randflake::Generator.new(service, SECRET)
    generator.generate
    threads = Thread.list.size
    system.age += 201
    service.delay = 0.3
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    5.times { assert_equal 0, SECRET.open(generator.generate).node }
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 0.2
    settle(generator)
    assert_equal [1, 2], [SECRET.open(generator.generate).node, service.calls.size]
    sleep 0.01
    assert_operator Thread.list.size, :<=, threads
  end

  def test_threads
    service = TestService.new(Randflake::System.new)
    service.delay = 0.05
    generator = Randflake::Generator.new(service, SECRET)
    stop = Thread.new { Thread.new { 100.times { generator.generate } }.kill while sleep(0.002) }
    ids = Array.new(8) { |i| Thread.new { Array.new(500) { generator.fill(1 + i) } } }.flat_map(&:value).flatten
    stop.kill.join
    distinct(ids, 500 * 36)
    assert_equal 1, service.calls.size
  end

  # Returns the IDs that a child of a fork makes.
  def child(kind, &work)
    reader, writer = IO.pipe
    fork_in_c = Fiddle::Function.new(Fiddle.dlopen(nil)["fork"], [], Fiddle::TYPE_INT, need_gvl: true)
    run = lambda do
      writer.write(Marshal.dump(work.call))
      writer.close
    ensure
      Process.kill(:KILL, Process.pid)
    end
    pid = kind == :c ? fork_in_c.call : fork(&run)
    run.call if pid.zero?
    writer.close
    Marshal.load(reader.read)
  ensure
    Process.wait(pid)
  end

  def test_fork
    %i[os c].each do |kind|
      service = TestService.new(system = TestSystem.new)
      generator = Randflake::Generator.new(service, SECRET)
      minter = Randflake::Minter.new(service)
      before = generator.fill(5)
      minter.generate
      Thread.new { sleep }.run # that the child does not have
      threads, theirs, calls, = child(kind) do
        ids = generator.fill(5)
        system.age += 201
        ids.concat(generator.fill(5), generator.fill(5))
        calls = service.calls.size
        minter.generate
        settle(generator)
        [Randflake::System.threads?, ids, [calls, service.calls.size]]
      end
      assert_equal kind == :os, threads
      distinct(before + theirs + generator.fill(20), 40)
      assert_operator calls[1], :>, calls[0], "a minter that forgets its batch"
    end
  end

  def test_minter
    service = TestService.new(system = TestSystem.new)
    def service.mint(count = 1, *) = Array.new((@calls << count) && count) { |i| @calls.size * 1000 + i }
    minter = Randflake::Minter.new(service)
    ids = minter.fill(380)
    assert_equal [512], service.calls
    ids.concat(minter.fill(10))
    settle(minter)
    assert_equal [512, 512], service.calls
    distinct(ids + minter.fill(300), 690)
    settle(minter)
    calls = service.calls.size
    system.age += 301
    minter.generate
    assert_equal calls + 1, service.calls.size
    [0, 65_537].each { |count| assert_raises(INVALID) { minter.fill(count) } }
  end

  # Serves connections by a block, which gets each of them and what was sent.
  def serve(tls = nil, &answer)
    server = TCPServer.new("127.0.0.1", 0)
    @servers = [*@servers, server]
    Thread.new do
      loop do
        Thread.new(server.accept) do |c|
          c = OpenSSL::SSL::SSLSocket.new(c, tls).accept if tls
          c.define_singleton_method(:count) { @count = @count.to_i + 1 }
          while (head = c.gets("\r\n\r\n"))
            answer.call(c, head, c.read(head[/content-length: (\d+)/i, 1].to_i))
          end
        rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
          nil
        end
      end
    rescue IOError
      nil
    end.report_on_exception = false
    "http#{'s' if tls}://127.0.0.1:#{server.addr[1]}"
  end

  def teardown = @servers&.each(&:close)

  def says(status, body, more = "Content-Length: #{body.bytesize}\r\n") = ->(c, *) { c.write("HTTP/1.1 #{status} X\r\n#{more}\r\n#{body}") }

  def numbers(limit, *addresses, **options) = Randflake::Service.new(addresses, "x", token: "to-ken", limit: limit, **options).next("c", 2)

  def fails(code, &block)
    e = assert_raises(Randflake::ServiceError, &block)
    assert_equal code, e.code
    refute_includes e.full_message, "to-ken"
    refute_includes e.message, "\n"
  end

  def test_calls
    good = serve do |c, head, body|
      sent = JSON.parse(body) == { "counter" => "c", "count" => 2 } && head.include?("\r\nAuthorization: Bearer to-ken\r\n")
      says(200, JSON.generate(numbers: [c.count.to_s, sent ? 1 : 0])).call(c)
    end
    service = Randflake::Service.new(good, "x", token: -> { "to-ken" })
    assert_equal [[1, 1], [2, 1]], [service.next("c", 2), service.next("c", 2)], "over one connection"
    silent = serve { sleep }
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_equal [1, 1], numbers(2, silent, "http://127.0.0.1:1", good)
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 1.2
    drip = serve { |c| c.write("x") && sleep(0.05) while true }
    drip_body = serve { |c| c.write("HTTP/1.1 200 X\r\nContent-Length: 999\r\n\r\n") && loop { c.write(" ") && sleep(0.05) } }
    [drip, drip_body].each do |address|
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      fails("unavailable") { numbers(0.4, address) }
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 0.8
    end
    once = serve { |c| says(200, '{"numbers":["5","6"]}').call(c) && c.close }
    service = Randflake::Service.new(once, "x")
    assert_equal [[5, 6]] * 3, Array.new(3) { service.next("c", 2) }, "connections that end"
    chunked = "HTTP/1.1 100 X\r\n\r\nHTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"num\r\n11;x=y\r\nbers\":[\"-7\", \"8\"]\r\n1\r\n}\r\n0\r\nA: b\r\n\r\n"
    assert_equal [-7, 8], numbers(2, serve { |c| chunked.each_char { |byte| c.write(byte) } })
    [
      ["unavailable", says(200, "#{' ' * (5 << 20)}{}")], ["unavailable", says(200, " " * (5 << 20), "")], ["unavailable", says(307, "", "Content-Length: 0\r\nLocation: #{good}/\r\n")],
      ["unavailable", says(200, "x")], ["unavailable", says(200, "[]")], ["unavailable", says(200, '{"numbers":["1",2.5]}')], ["unavailable", says(200, '{"numbers":["1"]}')],
      ["unavailable", says(404, "x")], ["unavailable", says(401, '{"code":[]}')], ["out_of_range", says(400, "{\"code\":\"out_of_range\",\"message\":\"a\\nb\xff\"}")],
      ["data_loss", says(500, '{"code":"data_loss","message":[]}')], ["unavailable", says(200, "{}", "Content-Length: -2\r\n")], ["unavailable", ->(c, *) { c.write("SSH-2.0\r\n\r\n") }],
      ["unavailable", says(200, "zz\r\n", "Transfer-Encoding: chunked\r\n")], ["unavailable", ->(c, *) { c.close }], ["unavailable", says(200, "[" * 1000)]
    ].each do |code, answer|
      address = serve(&answer)
      fails(code) { numbers(2, address) }
      next if code == "out_of_range"

      assert_equal [1, 1], numbers(2, address, good), "the next replica"
    end
    ["ftp://x", "x", "http://", "http://u:p@x", "http://x?y", "http://x\n", "", nil, []].each { |address| assert_raises(INVALID) { Randflake::Service.new(address, "x") } }
    assert_raises(INVALID) { Randflake::Service.new(good, "x", token: "a\nb").next("c") }
  end

  def test_leases
    change = {}
    address = serve do |c, _, body|
      request = JSON.parse(body)
      says(200, JSON.generate(lease: { owner: request["owner"], lastNode: 1, start: "1800000000", highWater: 1_800_000_299, **change })).call(c)
    end
    acquire = -> { Randflake::Service.new(address, "x").acquire(2, 300, "ab" * 16, "", false, 1) }
    assert_equal [0, 1_800_000_000, 1_800_000_299], acquire.().to_a.first(3)
    [{ owner: "x" }, { lastNode: 2 }, { lastNode: 0 }, { firstNode: -1 }, { highWater: "1799999999" }, { start: "x" }, { start: 1.5 }, { start: "1729999999" },
     { highWater: "2803741824" }, { firstNode: 131_071, lastNode: 131_072 }, { start: nil }].each do |wrong|
      change = wrong
      fails("unavailable", &acquire)
    end
  end

  def test_tls
    key = OpenSSL::PKey::EC.generate("prime256v1")
    certificate = OpenSSL::X509::Certificate.new
    certificate.version, certificate.serial, certificate.public_key = 2, 1, key
    certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=test")
    certificate.not_before, certificate.not_after = Time.now - 60, Time.now + 600
    certificate.add_extension(OpenSSL::X509::ExtensionFactory.new.create_extension("subjectAltName", "IP:127.0.0.1"))
    certificate.sign(key, "SHA256")
    own = OpenSSL::SSL::SSLContext.new
    own.add_certificate(certificate, key)
    address = serve(own, &says(200, '{"numbers":["1","2"]}'))
    trusting = OpenSSL::SSL::SSLContext.new
    trusting.set_params(verify_hostname: false, cert_store: OpenSSL::X509::Store.new.add_cert(certificate))
    assert_equal [1, 2], numbers(2, address, tls: trusting)
    fails("unavailable") { numbers(2, address) }
    fails("unavailable") { numbers(2, address.sub("127.0.0.1", "localhost"), tls: trusting) }
  end
end
