/// One decoder put to work on any bytes at all: by the fuzzer, and by the tests on the inputs it has kept.
package struct DecoderExercise: Sendable {
    /// The name of its directories of inputs.
    package let name: String
    /// Where a fuzzer begins: real encoded values.
    package let seeds: @Sendable () -> [[UInt8]]
    /// Says what went wrong; nil if the decoder kept its promises.
    ///
    /// It may also trap, which is the same as going wrong.
    package let complaint: @Sendable ([UInt8]) -> String?

    init(
        _ name: String,
        seeds: @escaping @Sendable () -> [[UInt8]],
        complaint: @escaping @Sendable ([UInt8]) -> String?
    ) {
        self.name = name
        self.seeds = seeds
        self.complaint = complaint
    }

    /// Every exercise there is.
    package static let all = [
        DecoderExercise("run", seeds: RunExercise.seeds, complaint: RunExercise.complaint),
        DecoderExercise("message", seeds: MessageExercise.seeds, complaint: MessageExercise.complaint),
        DecoderExercise("link", seeds: LinkExercise.seeds, complaint: LinkExercise.complaint),
        DecoderExercise("channel", seeds: ChannelExercise.seeds, complaint: ChannelExercise.complaint),
        DecoderExercise("record", seeds: RecordExercise.seeds, complaint: RecordExercise.complaint),
        DecoderExercise("value", seeds: ValueExercise.seeds, complaint: ValueExercise.complaint),
        DecoderExercise("json", seeds: JSONExercise.seeds, complaint: JSONExercise.complaint),
        DecoderExercise("position", seeds: PositionExercise.seeds, complaint: PositionExercise.complaint),
        DecoderExercise("compression", seeds: CompressionExercise.seeds, complaint: CompressionExercise.complaint),
        DecoderExercise("beacon", seeds: BeaconExercise.seeds, complaint: BeaconExercise.complaint),
        DecoderExercise("invite", seeds: InviteExercise.seeds, complaint: InviteExercise.complaint),
    ]
}
