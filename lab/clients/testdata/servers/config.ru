# Answers with the process ID, the ID that was made before the fork, and new IDs.
$LOAD_PATH.unshift(ENV.fetch("CLIENTS") + "/ruby/lib")
require "randflake"
service = Randflake::Service.new(ENV.fetch("ADDRESSES").split(","), ENV.fetch("SPACE"), token: ENV.fetch("TOKEN"))
generator = Randflake::Generator.new(service, Randflake::Secret.parse(ENV.fetch("SECRET")))
first = generator.generate
ids = -> { Array.new(50) { generator.generate } + generator.fill(50) }
run(->(_) { [200, {}, [[Process.pid, first, *ids.call].join(" ")]] })
