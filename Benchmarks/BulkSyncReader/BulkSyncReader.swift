import Foundation
import PeerdKit

/// Reads a workspace while it takes in much from another machine; it uses what any application can use of the library.
/// `scripts/bench.sh reads` runs it; by hand:
///
///     BulkSyncReader make DIRECTORY COUNT
///     BulkSyncReader serve DIRECTORY
///     BulkSyncReader sync|both|read DIRECTORY COUNT RATE SECONDS
///
/// `serve` prints an invite, and syncs until its standard input ends. `sync` and `both` read an invite from their
/// standard input, join, and take everything in; `both` reads meanwhile. `read` reads what is there, for SECONDS.
@main enum BulkSyncReader {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { throw Failure("say what to do; see BulkSyncReader.swift") }
        let directory = URL(fileURLWithPath: arguments[1])
        let numbers = arguments.dropFirst(2).compactMap { Int($0) }
        switch (arguments[0], numbers.count) {
        case ("make", 1): try await Sender.make(at: directory, objectCount: numbers[0])
        case ("serve", 0): try await Sender.serve(directory)
        case ("sync", 3), ("both", 3), ("read", 3):
            let receiver = Receiver(
                directory: directory,
                objectCount: numbers[0],
                rate: numbers[1],
                seconds: numbers[2]
            )
            switch arguments[0] {
            case "sync": print(try await receiver.sync(reads: false).line)
            case "both": print(try await receiver.sync(reads: true).line)
            default: print(try await receiver.read().line)
            }
        default: throw Failure("not understood; see BulkSyncReader.swift")
        }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// One line of JSON for the script that makes the table.
struct Report {
    private var fields: [(name: String, value: Double)] = []

    mutating func add(_ name: String, _ value: Double) { self.fields.append((name, value)) }

    var line: String {
        "{" + self.fields.map { "\"\($0.name)\": \($0.value)" }.joined(separator: ", ") + "}"
    }
}

extension Duration {
    var seconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) * 1e-18
    }
}
