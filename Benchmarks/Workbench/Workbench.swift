import CRDTCore
import Foundation

/// Makes workloads and measures merging them. `scripts/bench.sh` runs it; by hand:
///
///     Workbench make WORKLOAD COUNT CHANGE-SIZE RUN-SIZE DIRECTORY
///     Workbench memory|durable|whole|transactions DIRECTORY [DATABASE-DIRECTORY]
///
/// `whole` is `durable` with the base inside the transaction. CHANGE-SIZE is in operations, RUN-SIZE in changes.
@main
enum Workbench {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let verb = arguments.first else { throw Failure("say what to do; see Workbench.swift") }
        switch (verb, arguments.count) {
        case ("make", 6): try self.make(arguments)
        case ("memory", 2): print(try self.measurement(arguments[1]).memory().line)
        case ("durable", 3), ("whole", 3):
            let report = try self.measurement(arguments[1]).durable(directory: arguments[2], wholly: verb == "whole")
            print(report.line)
        case ("transactions", 3): print(try self.measurement(arguments[1]).transactions(directory: arguments[2]).line)
        default: throw Failure("not understood; see Workbench.swift")
        }
    }

    private static func make(_ arguments: [String]) throws {
        guard let workload = Workload(rawValue: arguments[1]), let count = Int(arguments[2]),
            let changeSize = Int(arguments[3]), let runSize = Int(arguments[4]), min(count, changeSize, runSize) > 0
        else { throw Failure("no such workload") }
        let runs = workload.runs(Workload.Shape(count: count, changeSize: changeSize, runSize: runSize))
        let files = self.files(arguments[5])
        try FileManager.default.createDirectory(atPath: arguments[5], withIntermediateDirectories: true)
        try files.base.write(runs.base)
        try files.news.write(runs.news)
        print(
            """
            {"operations": \(runs.news.reduce(0) { $0 + $1.operations.count }), \
            "runs": \(runs.news.count), "wire_bytes": \(files.news.byteCount)}
            """
        )
    }

    private static func files(_ directory: String) -> (base: RunFile, news: RunFile) {
        (RunFile(path: directory + "/base.runs"), RunFile(path: directory + "/news.runs"))
    }

    private static func measurement(_ directory: String) -> Measurement {
        let files = self.files(directory)
        return Measurement(base: files.base, news: files.news)
    }
}
