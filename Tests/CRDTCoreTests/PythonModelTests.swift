import CRDTCore
import Foundation
import MergeModel
import Testing

/// The directory of a naive model in Python, beside the test vectors.
private let modelDirectory = ProcessInfo.processInfo.environment["PEERD_TEST_VECTORS"].flatMap { vectors -> String? in
    let directory = URL(fileURLWithPath: vectors).deletingLastPathComponent().appendingPathComponent("sharing-model")
    let model = directory.appendingPathComponent("model.py").path
    return FileManager.default.fileExists(atPath: model) ? directory.path : nil
}

/// Who may do what, beside a naive model that others wrote in another language.
@Suite(.enabled(if: modelDirectory != nil, "there is no model of rights in Python beside PEERD_TEST_VECTORS"))
struct PythonModelTests {
    /// A circle as the model reads it: users and devices by their numbers, and one statement a change.
    private struct Circle: Encodable {
        var owner = 0
        var devices: [[Int?]] = []
        var changes: [Change] = []

        struct Change: Encodable {
            var device: Int
            var previous: Int?
            var statement: [Word]?
            var under: [Int]

            enum CodingKeys: String, CodingKey { case device, previous, statement, under }

            /// Nil is said, and not left out.
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(self.device, forKey: .device)
                try container.encode(self.previous, forKey: .previous)
                try container.encode(self.statement, forKey: .statement)
                try container.encode(self.under, forKey: .under)
            }
        }

        enum Word: Encodable {
            case text(String)
            case number(Int)
            case numbers([Int])

            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                switch self {
                case .text(let text): try container.encode(text)
                case .number(let number): try container.encode(number)
                case .numbers(let numbers): try container.encode(numbers)
                }
            }
        }
    }

    private struct Verdicts: Decodable, Equatable {
        /// For each change whether its author may have acted as a manager, a writer and a reader.
        var changes: [[Bool]]
        var readers: [Int]
    }

    /// A random circle without limits to some properties, of which that model knows nothing.
    private static func circle(seed: UInt64) -> WrittenCircle {
        let world = RandomCircle(seed: seed)
        var circle = WrittenCircle()
        for (number, user) in world.users.enumerated() {
            let first = circle.add(UInt64(10 + 2 * number), of: user)
            _ = circle.add(UInt64(11 + 2 * number), of: user, by: first)
        }
        for var change in world.circle.changes {
            change.statements = change.statements.map { statement in
                guard case .grant(let user, let role, _, let despite) = statement else { return statement }
                return .grant(user, role, despite: despite)
            }
            circle.append(change)
        }
        return circle
    }

    private static func encoded(_ circle: WrittenCircle) -> Circle {
        let users = (0..<5).map { WrittenCircle.user(UInt64($0)) }
        let devices = (10..<20).map { WrittenCircle.device(UInt64($0)) }
        func user(_ id: UserID) -> Circle.Word { .number(users.firstIndex(of: id) ?? -1) }
        func numbers(_ ids: Set<DeviceID>) -> [Int] { ids.compactMap { devices.firstIndex(of: $0) }.sorted() }
        var encoded = Circle()
        for number in devices.indices { encoded.devices.append([number / 2, number % 2 == 0 ? nil : number - 1]) }
        for change in circle.changes {
            let statement = change.statements.first.map { statement -> [Circle.Word] in
                switch statement {
                case .grant(let id, let role, _, let despite):
                    [.text("grant"), user(id), .number(role.rawValue), .numbers(despite.map(\.change).sorted())]
                case .removal(let id, let roles, let heads):
                    [.text("removal"), user(id), .numbers(roles.map(\.rawValue).sorted()), .numbers(heads.sorted())]
                case .deviceRemoval(let device, let keep, let heads):
                    [
                        .text("device"), .number(numbers([device]).first ?? -1), .numbers(numbers(keep)),
                        .numbers(heads.sorted()),
                    ]
                }
            }
            encoded.changes.append(
                Circle.Change(
                    device: numbers([change.device]).first ?? -1,
                    previous: change.previous,
                    statement: statement,
                    under: change.under.map(\.change).sorted()
                )
            )
        }
        return encoded
    }

    @Test func `each verdict is that of the model in Python`() throws {
        let circles = (0..<300 as Range<UInt64>).map { Self.circle(seed: 4_000_000 + $0) }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("circles-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try JSONEncoder().encode(circles.map { Self.encoded($0) }).write(to: file)
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let driver = tests.appendingPathComponent("Models/sharing_verdicts.py").path
        process.arguments = ["python3", "-B", driver, modelDirectory ?? "", file.path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let answer = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        let expected = try JSONDecoder().decode([Verdicts].self, from: answer)
        try #require(expected.count == circles.count)
        var turnedCount = 0
        for (number, circle) in circles.enumerated() {
            var random = SplitMix64(seed: UInt64(number))
            let log = try CircleLog(circle)
            let found = try log.verdicts(in: random.shuffled(Array(log.runs.indices)))
            var verdicts = Verdicts(changes: circle.changes.map { _ in [] }, readers: [])
            for (question, verdict) in zip(log.questions, found) {
                if case .role = question.need { verdicts.changes[question.change].append(verdict.counts) }
            }
            let devices = (10..<20).map { WrittenCircle.device(UInt64($0)) }
            verdicts.readers = try log.readers().compactMap { devices.firstIndex(of: $0) }.sorted()
            #expect(verdicts == expected[number], "circle \(number)")
            turnedCount += verdicts.changes.count { $0.contains(false) }
        }
        #expect(turnedCount > 1_000)
    }
}
