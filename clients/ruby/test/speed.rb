# frozen_string_literal: true

# Prints how many IDs a second of processor time are made, beside what Ruby has.

require_relative "../lib/randflake"

# Grants without a network.
class Granting < Randflake::Service
  def acquire(*, **) = Lease.new(0, Randflake::System.second, Randflake::System.second + 299, nil, 0)
end

def speed(calls, each = 1, &call)
  began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  calls.times(&call)
  calls * each / (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began)
end

secret = Randflake::Secret.parse("00112233445566778899aabbccddeeff")
generator = Randflake::Generator.new(Granting.new("http://localhost:1", "x"), secret)
uuid = speed(500_000) { SecureRandom.uuid }
speeds = { "generate" => speed(100_000) { generator.generate }, "fill" => speed(1000, 1000) { generator.fill(1000) } }
speeds.merge("UUID" => uuid).each { |what, speed| puts format("%-10s %8d a second, %.3f", what, speed, speed / uuid) }
