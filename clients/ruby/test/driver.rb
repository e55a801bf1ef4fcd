# frozen_string_literal: true

# Reads commands and answers them, as ../../README.md says.

require_relative "../lib/randflake"

FAULT = ENV["FAULT"].to_s
AHEAD = { "clock" => 0, "age" => 0 } # seconds
FORK = Fiddle::Function.new(Fiddle.dlopen(nil)["fork"], [], Fiddle::TYPE_INT, need_gvl: true)
EXIT = Fiddle::Function.new(Fiddle.dlopen(nil)["_exit"], [Fiddle::TYPE_INT], Fiddle::TYPE_VOID)

Randflake::System.singleton_class.prepend(Module.new do
  def second = super + AHEAD["clock"]
  def monotonic = super + (FAULT == "end" ? 0 : AHEAD["age"])
  def process = FAULT == "fork" ? 0 : super
end)

class FaultyService < Randflake::Service
  def acquire(...) = super.tap { |lease| lease.last += 1_000_000 if %w[end clamp].include?(FAULT) }
end

def service
  addresses = ENV.fetch("ADDRESSES").split(",").first(FAULT == "failover" ? 1 : 99)
  options = { token: ENV["TOKEN"].to_s == "" ? nil : ENV["TOKEN"], limit: Float(ENV["LIMIT"] || 10) }
  $service ||= FaultyService.new(addresses, ENV.fetch("SPACE"), **options)
end

def secret = $secret ||= Randflake::Secret.parse(ENV.fetch("SECRET"))
def size = { nodes: whole(ENV["NODES"]), ttl: whole(ENV["TTL"]) }
def generator = $generator ||= Randflake::Generator.new(service, secret, **size)
def minter = $minter ||= Randflake::Minter.new(service)
def whole(text) = Integer(text.to_s, 10, exception: false) || raise(Randflake::InvalidArgument, "want an integer")
def turned(text) = FAULT == "text" ? text.reverse : text
def generate(count) = Array.new([count, 0].max) { generator.generate }
def told(word, values) = [word, *values].join(" ")

def forked(kind, count)
  generator
  reader, writer = IO.pipe
  # Ruby hangs in a child that C forks while another thread waits for its turn: it goes on waiting for it.
  sleep 0.001 until (Thread.list - [Thread.current]).all?(&:stop?)
  child = kind == "c" ? FORK.call : fork || 0
  writer.write(answer("generate #{count}")) if child.zero?
  writer.close
  EXIT.call(0) if child.zero?
  theirs = reader.read
  Process.wait(child)
  [theirs, answer("generate #{count}").delete_prefix(theirs.start_with?("ids") ? "ids" : "")].join(" ")
end

def copies
  [generator, secret, minter, service].product(%i[dup clone marshal_dump]).map do |object, attempt|
    object.public_send(attempt)
    return "copied"
  rescue TypeError => e
    "error copy #{e.message}"
  end.last
end

COMMANDS = {
  "generate" => ->(count) { told("ids", generate(whole(count))) },
  "fill" => ->(count) { told("ids", generator.fill(whole(count))) },
  "threads" => lambda do |number, count|
    generator
    told("ids", Array.new(whole(number)) { Thread.new { generate(whole(count)) } }.flat_map(&:value))
  end,
  "fork" => ->(kind, count) { forked(kind, whole(count)) },
  "copy" => -> { copies },
  "mint" => ->(count) { told("ids", minter.fill(whole(count))) },
  "next" => ->(counter, count) { told("numbers", service.next(counter, whole(count))) },
  "format" => ->(id) { "text #{turned(Randflake.to_text(whole(id)))}" },
  "parse" => ->(text) { "id #{Randflake.parse(turned(text))}" },
  "inspect" => ->(id) { told("fields", secret.open(whole(id)).to_a) },
  "compose" => ->(*fields) { "id #{secret.compose(*fields.map { |field| whole(field) })}" },
  "secret" => ->(text) { "check #{Randflake::Secret.parse(text).check_value}" },
  "clock" => ->(seconds) { AHEAD["clock"] = whole(seconds) and "ok" },
  "age" => ->(seconds) { AHEAD["age"] = whole(seconds) and "ok" }
}.freeze

def answer(line)
  command, *words = line.split
  COMMANDS.key?(command) ? COMMANDS[command].call(*words) : "unsupported"
rescue Randflake::ServiceError => e
  "error #{e.code} #{e.message}"
rescue Randflake::InvalidArgument => e
  "error invalid_argument #{e.message}"
end

$stdout.sync = true
Thread.report_on_exception = false
$stdin.each_line { |line| puts answer(line).gsub(/\s+/, " ") }
