# frozen_string_literal: true

# Prints how many IDs a second of processor time are made, beside what Ruby has.

require_relative "../lib/randflake"

# Grants without a network.
class Granting < Randflake::Service
  def acquire(*) = Lease.new(0, system.second, system.second + 299, nil, 0)
end

def measure(what, each)
  used = -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
  n, began = 0, used.call
  while (seconds = used.call - began) < 1
    (1000 / each).times { yield }
    n += 1000
  end
  puts format("%-20s %9d a second", what, n / seconds)
end

generator = Randflake::Generator.new(Granting.new("http://localhost:1", "x"), Randflake::Secret.parse("00112233445566778899aabbccddeeff"))
measure("generate", 1) { generator.generate }
measure("fill(1000)", 1000) { generator.fill(1000) }
measure("SecureRandom.uuid", 1) { SecureRandom.uuid }
