# frozen_string_literal: true

# Prints how many IDs a second of processor time are made, beside what Ruby has.

require_relative "../lib/randflake"

# Grants without a network.
class Granting < Randflake::Service
  def acquire(*, **) = Lease.new(0, Randflake::System.second, Randflake::System.second + 299, nil, 0)
end

def speed(each = 1)
  made, began = 0, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  while (seconds = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began) < 1
    (1000 / each).times { yield }
    made += 1000
  end
  made / seconds
end

generator = Randflake::Generator.new(Granting.new("http://localhost:1", "x"), Randflake::Secret.new("0123456789abcdef"))
uuid = speed { SecureRandom.uuid }
{ "generate" => speed { generator.generate }, "fill(1000)" => speed(1000) { generator.fill(1000) }, "SecureRandom.uuid" => uuid }
  .each { |what, a_second| puts format("%-20s %9d a second, %.3f of a UUID's", what, a_second, a_second / uuid) }
