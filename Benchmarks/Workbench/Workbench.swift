import CRDTCore
import Foundation

/// Makes workloads and measures merging them. `scripts/bench.sh` runs it; by hand:
///
///     Workbench make WORKLOAD COUNT CHANGE-SIZE RUN-SIZE DIRECTORY
///     Workbench share founder|other|home COUNT GRANTS REMOVALS DIRECTORY
///     Workbench remove COUNT CUT-COUNT DIRECTORY
///     Workbench memory|durable|whole|transactions|base|fill|news DIRECTORY [DATABASE-DIRECTORY]
///     Workbench parcel RECIPIENTS DIRECTORY
///
/// `whole` is `durable` with the base inside the transaction. `fill` makes a database of the base alone, and `news`
/// goes on there. `base` merges the base into memory, and no news. CHANGE-SIZE is in operations, RUN-SIZE in changes;
/// where neither is given, they are 100 and 4,096.
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
        case ("base", 2): print(try self.measurement(arguments[1]).baseInMemory().line)
        case ("fill", 3): print(try self.measurement(arguments[1]).fill(directory: arguments[2]).line)
        case ("news", 3): print(try self.measurement(arguments[1]).continuing(directory: arguments[2]).line)
        case ("share", 6), ("remove", 4): try self.makeShared(arguments)
        case ("parcel", 3): try self.pack(arguments)
        default: throw Failure("not understood; see Workbench.swift")
        }
    }

    private static func make(_ arguments: [String]) throws {
        guard let workload = Workload(rawValue: arguments[1]), let count = Int(arguments[2]),
            let changeSize = Int(arguments[3]), let runSize = Int(arguments[4]), min(count, changeSize, runSize) > 0
        else { throw Failure("no such workload") }
        let runs = workload.runs(Workload.Shape(count: count, changeSize: changeSize, runSize: runSize))
        try self.write(runs, to: arguments[5])
    }

    private static func makeShared(_ arguments: [String]) throws {
        let numbers = arguments.compactMap { Int($0) }
        guard let count = numbers.first, let directory = arguments.last else { throw Failure("no such workload") }
        let shape = Workload.Shape(count: count, changeSize: 100, runSize: 4096)
        switch (arguments[0], numbers.count) {
        case ("share", 3):
            guard let author = SharedWorkload.Author(rawValue: arguments[1]) else { throw Failure("no such author") }
            let (grants, removals) = (numbers[1], numbers[2])
            guard author != .other || grants > removals else { throw Failure("who writes needs a grant") }
            let runs = SharedWorkload.writes(
                shape,
                by: author,
                grantCount: grants,
                removalCount: removals
            )
            try self.write(runs, to: directory)
        case ("remove", 2): try self.write(SharedWorkload.lateRemoval(shape, cutCount: numbers[1]), to: directory)
        default: throw Failure("no such workload")
        }
    }

    private static func pack(_ arguments: [String]) throws {
        guard let count = Int(arguments[1]), count > 0 else { throw Failure("say for how many") }
        let sizes = try Parcels.sizes(of: try self.files(arguments[2]).news.messages(), for: count)
        print("{\"content_bytes\": \(sizes.content), \"parcel_bytes\": \(sizes.parcel)}")
    }

    private static func write(_ runs: Workload.Runs, to directory: String) throws {
        let files = self.files(directory)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
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
