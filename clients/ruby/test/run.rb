# frozen_string_literal: true

# What ../../../lab/clients can't see. ruby test/run.rb runs all tests.

require_relative "../lib/randflake"
require "minitest/autorun"
require "pp"
require "yaml"

class ClientTest < Minitest::Test
  def service(address = "http://localhost:1", **more) = Randflake::Service.new(address, "x", token: "to-ken", **more)

  def test_nothing_is_shown_or_serialized
    secret = Randflake::Secret.parse(digits = "00112233445566778899aabbccddeeff")
    [secret, service, Randflake::Generator.new(service, secret), Randflake::Minter.new(service)].each do |object|
      error = assert_raises(NoMethodError) { object.x }.full_message
      shown = object.inspect + object.pretty_inspect + object.to_s + error
      [digits, [digits].pack("H*").inspect, "to-ken"].each { |hidden| refute_includes shown, hidden }
      [-> { Marshal.dump(object) }, -> { object.to_yaml }, -> { JSON.generate([object]) }, -> { object.as_json }]
        .each { |attempt| assert_raises(TypeError, &attempt) }
    end
    refute_includes assert_raises(Randflake::InvalidArgument) { service("http://u:to-ken@x y") }.full_message, "to-ken"
  end

  # Starts a server that answers each connection by the block, and returns its address.
  def serve(tls)
    server = TCPServer.new("127.0.0.1", 0)
    accepting = OpenSSL::SSL::SSLServer.new(server, tls)
    Thread.new { loop { yield accepting.accept rescue nil } } # rubocop:disable Style/RescueModifier
    "https://127.0.0.1:#{server.addr[1]}"
  end

  # Grants the same lease for the same owner token, with a delay.
  class Granting < Randflake::Service
    def acquire(_, **request)
      sleep 0.05
      node = ((@nodes ||= {})[request[:owner]] ||= @nodes.size)
      sleep 0.05 if request[:retry]
      Lease.new(node, Time.now.to_i, Time.now.to_i + 299, nil, 0)
    end
  end

  def granted = Randflake::Generator.new(Granting.new("http://x", "x"), Randflake::Secret.parse("01" * 16))

  def test_an_exception_once_a_call_has_begun
    generator, late = granted, TracePoint.new(:c_return) { |call| raise "late" if call.self == Thread }
    late.enable(target_thread: Thread.current) { assert_raises(RuntimeError) { generator.generate } }
    made = [0, 0.06].map { |wait| Thread.new { sleep(wait) && Array.new(40) { sleep(0.005) && generator.generate } } }
    ids = made.flat_map(&:value)
    assert_equal 80, ids.uniq.size
  end

  def test_a_signal_handler
    generator = granted
    ids, others = [generator.generate], []
    handler = trap("USR1") { others << generator.generate rescue others << nil } # rubocop:disable Style/RescueModifier
    child = fork { loop { sleep(0.0002) && Process.kill("USR1", Process.ppid) } }
    ids << generator.generate while others.size < 2000
    ids.concat(others.compact)
    assert_equal ids.size, ids.uniq.size
  ensure
    Process.kill("KILL", child)
    Process.wait(child)
    trap("USR1", handler)
  end

  def test_tls_of_a_private_authority
    own, certificate = OpenSSL::PKey::EC.generate("prime256v1"), OpenSSL::X509::Certificate.new
    certificate.version, certificate.serial, certificate.public_key = 2, 1, own
    certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=test")
    certificate.not_before, certificate.not_after = Time.now - 60, Time.now + 600
    certificate.add_extension(OpenSSL::X509::ExtensionFactory.new.create_extension("subjectAltName", "IP:127.0.0.1"))
    certificate.sign(own, "SHA256")
    context = OpenSSL::SSL::SSLContext.new
    context.add_certificate(certificate, own)
    address = serve(context) do |connection|
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"numbers\":[\"7\"]}") if connection.gets
    end
    trusted = { cert_store: OpenSSL::X509::Store.new.add_cert(certificate) }
    assert_equal [7], service(address, tls: trusted).next("c")
    [service(address), service(address.sub("127.0.0.1", "localhost"), tls: trusted)].each do |wary|
      assert_raises(Randflake::ServiceError) { wary.next("c") }
    end
  end
end
