import ArgumentParser
import Testing

@testable import Simulation
@testable import Simulator

/// What cannot be run is refused before anything is, with a sentence and not with a trap.
struct BadInputTests {
    @Test(arguments: ["-1", "0", "1025"]) func `a batch needs a process`(_ jobs: String) {
        #expect(throws: (any Error).self) { _ = try BatchOptions.parse(["--jobs=\(jobs)"]) }
    }

    @Test(arguments: ["-1", "0", "nan"]) func `a batch takes some time`(_ minutes: String) {
        #expect(throws: (any Error).self) { _ = try BatchOptions.parse(["--minutes=\(minutes)"]) }
    }

    @Test func `seeds that do not exist are not counted from the beginning`() throws {
        let last = try BatchOptions.parse(["--first=\(UInt64.max - 1)"])
        #expect(try last.seeds(1) == UInt64.max - 1..<UInt64.max)
        for count in [-1, 0, 2, Int.max] { #expect(throws: ValidationError.self) { _ = try last.seeds(count) } }
    }

    @Test(arguments: [
        "--peers=1", "--peers=8", "--edits=0", "--edits=1001", "--duration=0", "--duration=86401", "--faults=nosuch",
    ])
    func `a world that cannot be is refused`(_ option: String) throws {
        let options = try WorldOptions.parse([option])
        #expect(throws: ValidationError.self) { _ = try options.limits() }
    }

    @Test func `more than all seeds are not run twice`() {
        #expect(throws: (any Error).self) { _ = try RunSeedsCommand.parse(["--twice=101"]) }
    }

    @Test func `a file that cannot be read is named, with the reason`() throws {
        for (path, reason) in [("/nonexistent/a.scn", "No such file"), ("/", "Is a directory")] {
            let error = #expect(throws: ValidationError.self) { _ = try InputFile.text(at: path) }
            #expect(error?.message.contains("“\(path)” cannot be read: \(reason)") ?? false)
        }
        let error = #expect(throws: ValidationError.self) { _ = try InputFile.text(at: "/bin/sh") }
        #expect(error?.message.contains("no text") ?? false)
        #expect(throws: ValidationError.self) { _ = try InputFile.scenarioNames(in: "/nonexistent") }
    }
}
