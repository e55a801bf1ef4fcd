# frozen_string_literal: true

# Reads commands and answers them, as ../../README.md says.

require_relative "../lib/randflake"

FAULT = ENV["FAULT"].to_s

class Clocks < Randflake::System
  attr_accessor :clock, :age

  def second = super + clock.to_i
  def monotonic = super + (FAULT == "end" ? 0 : age.to_i)
  def process = FAULT == "fork" ? 0 : super
end

class FaultyService < Randflake::Service
  def acquire(...)
    lease = super
    lease.last += 1_000_000 if FAULT == "end"
    lease
  end
end

class FaultyGenerator < Randflake::Generator
  private

  def raw(lease, place)
    second = @system.second
    super + (FAULT == "clamp" ? second - second.clamp(lease.start, lease.last) << 34 : 0)
  end
end

SYSTEM = Clocks.new
EXIT = Fiddle::Function.new(Fiddle.dlopen(nil)["_exit"], [Fiddle::TYPE_INT], Fiddle::TYPE_VOID)
FORK = Fiddle::Function.new(Fiddle.dlopen(nil)["fork"], [], Fiddle::TYPE_INT, need_gvl: true)

def addresses = ENV.fetch("ADDRESSES").split(",").first(FAULT == "failover" ? 1 : 99)

def service
  token = ENV["TOKEN"].to_s
  $service ||= FaultyService.new(addresses, ENV.fetch("SPACE"), token: token.empty? ? nil : token, limit: Float(ENV["LIMIT"] || 10), system: SYSTEM)
end

def secret = $secret ||= Randflake::Secret.parse(ENV.fetch("SECRET"))
def generator = $generator ||= FaultyGenerator.new(service, secret, nodes: whole(ENV.fetch("NODES")), ttl: whole(ENV.fetch("TTL")))
def minter = $minter ||= Randflake::Minter.new(service)

def whole(text)
  Integer(text, 10)
rescue ArgumentError, TypeError
  raise Randflake::InvalidArgument, "want an integer"
end

def generate(count) = Array.new([count, 0].max) { generator.generate }

def forked(kind, count)
  generator
  reader, writer = IO.pipe
  work = lambda do
    writer.write(answer("generate #{count}"))
    writer.flush
    EXIT.call(0)
  end
  child = kind == "c" ? FORK.call : fork(&work)
  work.call if child.zero?
  writer.close
  theirs = reader.read
  Process.wait(child)
  ours = answer("generate #{count}")
  theirs.start_with?("ids") && ours.start_with?("ids") ? theirs + ours.delete_prefix("ids") : "#{theirs} #{ours}"
end

def copies
  refusal = nil
  [generator, secret, minter, service].each do |original|
    [-> { original.dup }, -> { original.clone }, -> { Marshal.dump(original) }].each do |copy|
      copy.call
      return "copied"
    rescue TypeError => e
      refusal = e.message
    end
  end
  "error copy #{refusal}"
end

def answer(line)
  command, _, rest = line.partition(" ")
  words = rest.split
  case command
  when "generate" then ["ids", *generate(whole(rest))].join(" ")
  when "fill" then ["ids", *generator.fill(whole(rest))].join(" ")
  when "threads"
    count = whole(words[1])
    generator
    ["ids", *Array.new(whole(words[0])) { Thread.new { generate(count) } }.flat_map(&:value)].join(" ")
  when "fork" then forked(words[0], whole(words[1]))
  when "copy" then copies
  when "mint" then ["ids", *minter.fill(whole(rest))].join(" ")
  when "next" then ["numbers", *service.next(words[0], whole(words[1]))].join(" ")
  when "format"
    text = Randflake.to_text(whole(rest))
    "text #{FAULT == 'text' ? text.reverse : text}"
  when "parse" then "id #{Randflake.parse(FAULT == 'text' ? rest.reverse : rest)}"
  when "inspect" then ["fields", *secret.open(whole(rest))].join(" ")
  when "compose" then "id #{secret.compose(*words.map { |word| whole(word) })}"
  when "secret" then "check #{Randflake::Secret.parse(rest).check_value}"
  when "clock" then SYSTEM.clock = whole(rest) and "ok"
  when "age" then SYSTEM.age = whole(rest) and "ok"
  else "unsupported"
  end
rescue Randflake::ServiceError => e
  "error #{e.code} #{e.message}"
rescue Randflake::InvalidArgument => e
  "error invalid_argument #{e.message}"
end

$stdout.sync = true
Thread.report_on_exception = false
while (line = $stdin.gets)
  puts answer(line.chomp).gsub(/\s+/, " ")
end
