# Calls that a run of a Ruby program makes, as lab/call_edges.py reads them (with --observed):
#
#   ruby -r ./calls_trace.rb FILE…       with CALLS_ROOT (the folder) and CALLS_OUT (the file to write)
require "json"
require "set"

module CallsTrace
  ROOT = File.realpath(ENV.fetch("CALLS_ROOT")) + "/"
  OUT = ENV.fetch("CALLS_OUT")
  ROWS = Set.new
  TRACE = TracePoint.new(:call) do |point|
    if point.path.start_with?(ROOT)
      # The nearest frame is the caller's, with the line of the call.
      from = caller_locations(2, 1)&.first
      if from && from.absolute_path&.start_with?(ROOT)
        ROWS << [from.absolute_path, from.lineno, point.method_id.to_s, point.path, point.lineno]
      end
    end
  end

  def self.write
    TRACE.disable
    File.open(OUT, "w") do |out|
      ROWS.map(&:first).uniq.each { |path| out.puts(row(path, 0, "", "", 0)) }
      ROWS.each { |path, line, name, callee, at| out.puts(row(path, line, name, callee.delete_prefix(ROOT), at)) }
    end
  end

  def self.row(path, line, name, callee, at)
    {path: path.delete_prefix(ROOT), line: line, name: name == "initialize" ? "new" : name, callee_path: callee, callee_line: at}.to_json
  end
end
CallsTrace::TRACE.enable
at_exit { at_exit { at_exit { CallsTrace.write } } }
