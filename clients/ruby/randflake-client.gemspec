Gem::Specification.new do |s|
  s.name = "randflake-client"
  s.version = "0.1.0"
  s.summary = "Unique 64-bit IDs that look random, made in Ruby under leases of randflaked"
  s.authors = ["The randflake authors"]
  s.license = "MIT"
  s.homepage = "https://github.com/randflake/randflake"
  s.required_ruby_version = ">= 3.1"
  s.files = Dir["lib/**/*.rb"] + %w[README.md LICENSE]
end
