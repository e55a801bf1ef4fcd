# frozen_string_literal: true

# What ../../conformance can't see. ruby test/run.rb runs all tests.

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
  def serve(tls = nil)
    server = TCPServer.new("127.0.0.1", 0)
    accepting = tls ? OpenSSL::SSL::SSLServer.new(server, tls) : server
    Thread.new { loop { yield accepting.accept rescue nil } } # rubocop:disable Style/RescueModifier
    "http#{'s' if tls}://127.0.0.1:#{server.addr[1]}"
  end

  def test_time_limit_of_an_answer_that_drips
    address = serve { |connection| connection.write(" ") while sleep 0.05 }
    Timeout.timeout(2) { assert_raises(Randflake::ServiceError) { service(address, limit: 0.4).next("c") } }
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
