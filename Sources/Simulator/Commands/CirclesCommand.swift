import ArgumentParser
import CRDTCore
internal import MergeModel

/// `circles`: who may do what, very often.
struct CirclesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "circles",
        abstract: "Judges random circles with forks, thieves and rogue managers, and compares with the naive model.",
        discussion: """
            Each seed is a circle of five users with two devices each, who grant roles, take them, and remove devices. \
            Its changes arrive in two orders. With --json a line says what was said and how it was judged, for other \
            models to compare with.

            Exit codes: 0 nothing found, 1 verdicts differ, 64 the command line is not understood.
            """
    )

    @Option(help: "The first seed.")
    var first: UInt64 = 1
    @Option(help: "The number of circles.")
    var count: UInt64 = 10_000
    @Flag(help: "Print each circle with its verdicts as a line of JSON.")
    var json = false

    func run() throws {
        var questionCount = 0
        for seed in self.first..<self.first &+ self.count {
            let trial = try CircleTrial(seed: seed)
            guard trial.disagreements.isEmpty else {
                print("FOUND verdicts that differ: seed \(seed): \(trial.disagreements.joined(separator: "; "))")
                throw ExitCode.failure
            }
            questionCount += trial.questions.count
            if self.json { print(trial.json.canonicalText) }
        }
        if !self.json { print("circles \(self.count), verdicts \(questionCount), all as the naive model has them") }
    }
}

extension CircleTrial {
    /// Devices and users by their ids, changes by their numbers, statements by those of their changes and places.
    fileprivate var json: JSON {
        let verdicts = zip(self.questions, self.verdicts).map { question, verdict in
            let need =
                switch question.need {
                case .role(let role): "\(role)"
                case .write(let name): "write \(name)"
                case .owner: "owner"
                }
            return JSON.array([.int(Int64(question.change)), .string(need), .bool(verdict)])
        }
        let devices = self.circle.devices.map { id, device in
            (
                ExactText(id.description),
                JSON.object([
                    "user": .string(device.user.description), "generation": .int(Int64(device.generation)),
                    "issuers": .array(device.issuers.map { .string($0.description) }),
                ])
            )
        }
        return .object([
            "owner": .string(WrittenCircle.owner.description),
            "devices": .object(Dictionary(uniqueKeysWithValues: devices)),
            "changes": .array(self.circle.changes.map(\.json)), "verdicts": .array(verdicts),
            "readers": .array(self.readers.map { .string($0.description) }),
        ])
    }
}

extension NaiveRights.Change {
    fileprivate var json: JSON {
        .object([
            "device": .string(self.device.description), "previous": self.previous.map { .int(Int64($0)) } ?? .null,
            "under": Self.json(self.under), "statements": .array(self.statements.map { Self.json($0) }),
        ])
    }

    private static func json(_ statement: NaiveRights.Statement) -> JSON {
        switch statement {
        case .grant(let user, let role, let names, let despite):
            .object([
                "grant": .string(user.description), "role": .string("\(role)"),
                "names": names.map { .array($0.sorted().map { .string($0) }) } ?? .null,
                "despite": Self.json(despite),
            ])
        case .removal(let user, let roles, let heads):
            .object([
                "removal": .string(user.description), "roles": .array(roles.sorted().map { .string("\($0)") }),
                "heads": .array(heads.sorted().map { .int(Int64($0)) }),
            ])
        case .deviceRemoval(let device, let keep, let heads):
            .object([
                "device-removal": .string(device.description),
                "keep": .array(keep.sorted().map { .string($0.description) }),
                "heads": .array(heads.sorted().map { .int(Int64($0)) }),
            ])
        }
    }

    private static func json(_ places: Set<NaiveRights.StatementPlace>) -> JSON {
        let sorted = places.sorted { ($0.change, $0.index) < ($1.change, $1.index) }
        return .array(sorted.map { .array([.int(Int64($0.change)), .int(Int64($0.index))]) })
    }
}
